-- What operators did: who, why, and what came of it. An action whose effect is in this database is recorded
-- in the effect's transaction; one on Connect or Kafka as 'requested' before and with its result after.
CREATE TABLE operator_actions (
  id           uuid PRIMARY KEY,
  action       text NOT NULL CHECK (action ~ '^[a-z]+([.-][a-z]+)*$'),
  target       text NOT NULL,
  principal    text NOT NULL CHECK (char_length(principal) <= 512),
  reason       text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 1000),
  details      jsonb NOT NULL DEFAULT '{}',
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  status       text NOT NULL DEFAULT 'requested' CHECK (status IN ('requested', 'done', 'no-effect', 'failed')),
  result       jsonb,
  finished_at  timestamptz,
  CHECK ((status = 'requested') = (finished_at IS NULL))
);
CREATE INDEX operator_actions_by_time ON operator_actions (requested_at DESC, id);

GRANT SELECT, INSERT ON operator_actions TO projection_operator;
GRANT UPDATE (status, result, finished_at) ON operator_actions TO projection_operator;
GRANT SELECT ON operator_actions TO projection_verifier;
