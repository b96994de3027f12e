-- What becomes of a record in quarantine:
--   open       it was refused and waits for a person
--   redriving  a person asked for another attempt; the projector makes it, as soon as it can
--   held       it was not tried: an earlier revision of its note is open, and the consumer takes every revision
--              in order. It is tried when nothing before it is open any more
--   applied    an attempt took effect            no-effect  an attempt found that it had taken effect before
--   discarded  a person decided that it is not wanted; kept for ever all the same
ALTER TABLE quarantine.records
  ADD COLUMN state       text NOT NULL DEFAULT 'open'
    CHECK (state IN ('open', 'redriving', 'held', 'applied', 'no-effect', 'discarded')),
  -- The last redrive or discard; who and why stands there.
  ADD COLUMN action_id   uuid REFERENCES operator_actions,
  ADD COLUMN resolved_at timestamptz,
  ADD COLUMN resolution  text, -- for a person
  -- Its bytes are the event that event_id, note_id and revision name. Otherwise these are only what key and
  -- headers claim: whoever can write to the topic can put any bytes under any claim.
  ADD COLUMN decoded     boolean NOT NULL DEFAULT false,
  ADD CHECK ((state IN ('applied', 'no-effect', 'discarded')) = (resolved_at IS NOT NULL)),
  ADD CHECK (state <> 'redriving' OR action_id IS NOT NULL);

-- Where a record stands among those of its note. One that does not say its revision could be any, so it
-- comes before all.
ALTER TABLE quarantine.records
  ADD COLUMN note_order int NOT NULL GENERATED ALWAYS AS (coalesce(revision, 1)) STORED;

-- What is to be done, looked at several times a second; and what keeps later records of a note back.
CREATE INDEX records_to_do ON quarantine.records (consumer, generation, id) WHERE state IN ('redriving', 'held');
CREATE INDEX records_unresolved_by_note ON quarantine.records (consumer, generation, note_id)
  WHERE state IN ('open', 'redriving', 'held');
CREATE INDEX records_unresolved ON quarantine.records (id) WHERE state IN ('open', 'redriving', 'held');

GRANT UPDATE (state, action_id, resolved_at, resolution) ON quarantine.records TO projection_operator;
GRANT SELECT (state, decoded) ON quarantine.records TO projection_read_api;
-- The projector says what came of the action, in the transaction of the effect.
GRANT SELECT (id, status), UPDATE (status, result, finished_at) ON operator_actions TO projection_projector;
