ALTER TABLE public.rebuilds
  ADD COLUMN from_text  text NOT NULL DEFAULT '',  -- the start, as the operator wrote it
  ADD COLUMN topic_id   uuid,                      -- the topic that start is about
  ADD COLUMN cluster_id text,
  ADD COLUMN beside     int,                       -- the generation that was live when it began
  ADD COLUMN dropping   int,                       -- the generation whose rows are being deleted, or were
  ADD COLUMN drop_id    uuid REFERENCES operator_actions, -- who asked for that
  ADD COLUMN waits_for  text,                      -- why it does not go on now, for a person
  ADD COLUMN to_seed    int,                       -- notes that the source had when seeding began
  -- Source transactions from this one on had not begun when the start offsets were read: a snapshot that shows
  -- all before it as ended has everything that lies below them.
  ADD COLUMN horizon    xid8;

-- One at a time of each consumer: it is over when one of the two generations is gone.
CREATE UNIQUE INDEX rebuilds_one_at_a_time ON public.rebuilds (consumer) WHERE status <> 'dropped';

-- What was applied since a moment: what a switch compares once more while nothing can be applied.
CREATE INDEX inbox_by_time ON catalog.inbox (applied_at);

-- Of a group that is gone.
GRANT DELETE ON public.committed_offsets TO projection_operator;
