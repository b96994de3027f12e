-- Which topic progress is about: Kafka gives every topic an id when it is made, so that one that was deleted
-- and made anew under the same name is told apart. NULL: not known yet.
ALTER TABLE catalog.progress ADD COLUMN topic_id uuid;
ALTER TABLE audit.progress ADD COLUMN topic_id uuid;

-- Partitions that are not read on until a person decides, as the projector found them. A row goes when the
-- partition is read on.
CREATE TABLE public.stopped_partitions (
  consumer    text NOT NULL CHECK (consumer IN ('catalog', 'audit')),
  generation  int NOT NULL,
  topic       text NOT NULL,
  partition   int NOT NULL,
  reason      text NOT NULL, -- stable code, listed in core/position.ts
  message     text NOT NULL, -- for a person
  since       timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Where progress stood: once it stands elsewhere this says nothing any more. NULL: nothing was ever applied.
  incarnation int,
  next_offset bigint,
  CHECK ((incarnation IS NULL) = (next_offset IS NULL)),
  PRIMARY KEY (consumer, generation, topic, partition)
);

-- What each group is known to have committed in Kafka, written after Kafka took it: a committed offset below
-- it was moved back by somebody, and is not what a crash leaves. Decides nothing about what is applied.
CREATE TABLE public.committed_offsets (
  group_id     text NOT NULL,
  topic        text NOT NULL,
  partition    int NOT NULL,
  incarnation  int NOT NULL, -- of progress
  next_offset  bigint NOT NULL,
  committed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (group_id, topic, partition)
);

-- Revisions of a note that catalog has passed without having seen them. Open ones are runs; when one of their
-- revisions arrives the run is split around it, so that every row closed by a record is one revision. A person
-- may accept a run as it is: when no record can come any more, nothing else would ever close it.
CREATE TABLE catalog.revision_gaps (
  id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  generation         int NOT NULL REFERENCES catalog.generations,
  note_id            text NOT NULL,
  first_revision     int NOT NULL CHECK (first_revision >= 1),
  last_revision      int NOT NULL CHECK (last_revision >= first_revision),
  opened_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The record that showed it: its revision came without the ones before.
  opened_by_event    uuid NOT NULL,
  opened_by_revision int NOT NULL,
  topic              text NOT NULL,
  incarnation        int NOT NULL,
  partition          int NOT NULL,
  "offset"           bigint NOT NULL,
  alarmed_at         timestamptz, -- when an instance told about it
  closed_at          timestamptz,
  closed_how         text CHECK (closed_how IN ('arrived', 'discarded', 'accepted')),
  closed_by_event    uuid,
  closed_by_action   uuid, -- of operator_actions: who accepted it, and why
  CHECK ((closed_at IS NULL) = (closed_how IS NULL)),
  CHECK (closed_at IS NULL OR closed_how = 'accepted' OR first_revision = last_revision),
  CHECK ((closed_how IS NOT DISTINCT FROM 'accepted') = (closed_by_action IS NOT NULL))
);
CREATE INDEX revision_gaps_open ON catalog.revision_gaps (generation, note_id, first_revision)
  WHERE closed_at IS NULL;
CREATE INDEX revision_gaps_by_note ON catalog.revision_gaps (note_id, first_revision);

-- Records whose revision was not the next one of its note when they were applied.
CREATE TABLE catalog.irregular_records (
  generation    int NOT NULL REFERENCES catalog.generations,
  topic         text NOT NULL,
  incarnation   int NOT NULL,
  partition     int NOT NULL,
  "offset"      bigint NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('ahead', 'stale', 'duplicate')),
  event_id      uuid NOT NULL,
  note_id       text NOT NULL,
  revision      int NOT NULL,
  next_revision int, -- of the note, when it is known: what a regular record would have had
  seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (generation, topic, incarnation, partition, "offset")
);
CREATE INDEX irregular_records_by_note ON catalog.irregular_records (note_id, revision);

GRANT SELECT, INSERT, UPDATE, DELETE ON public.stopped_partitions, public.committed_offsets TO projection_projector;
GRANT SELECT, INSERT, UPDATE, DELETE ON catalog.revision_gaps TO projection_projector;
GRANT SELECT, INSERT ON catalog.irregular_records TO projection_projector;

GRANT SELECT ON public.stopped_partitions, public.committed_offsets, catalog.revision_gaps, catalog.irregular_records
  TO projection_operator, projection_verifier;
-- Accepting what Kafka has now: the one thing about progress that a person decides.
GRANT INSERT (generation, topic, partition, next_offset, cluster_id, topic_id) ON catalog.progress, audit.progress TO projection_operator;
GRANT UPDATE (incarnation, next_offset, last_event_id, last_broker_time, cluster_id, topic_id, updated_at)
  ON catalog.progress, audit.progress TO projection_operator;
GRANT DELETE ON public.stopped_partitions TO projection_operator;
-- Accepting that a revision is missing: the part that is accepted is closed, what is left of the run stays open.
GRANT UPDATE (first_revision, last_revision, closed_at, closed_how, closed_by_action) ON catalog.revision_gaps
  TO projection_operator;
GRANT INSERT (generation, note_id, first_revision, last_revision, opened_at, opened_by_event, opened_by_revision,
    topic, incarnation, partition, "offset", alarmed_at)
  ON catalog.revision_gaps TO projection_operator;
