-- Records a consumer can never apply, whole: nothing about them has to be fetched again to redrive them.
CREATE SCHEMA quarantine;

CREATE TABLE quarantine.records (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer    text NOT NULL CHECK (consumer IN ('catalog', 'audit')),
  generation  int NOT NULL,
  topic       text NOT NULL,
  incarnation int NOT NULL,
  partition   int NOT NULL,
  "offset"    bigint NOT NULL,
  broker_time timestamptz NOT NULL,
  key         bytea,
  value       bytea,
  headers     jsonb NOT NULL, -- [[name, base64 of the value or null], ...] in the record's order
  event_id    uuid,
  note_id     text,
  revision    int,
  reason      text NOT NULL, -- stable code, listed in services/projector/decide.ts
  explanation text NOT NULL, -- for a person
  attempts    int NOT NULL DEFAULT 1,
  first_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (consumer, generation, topic, incarnation, partition, "offset")
);
CREATE INDEX records_by_note ON quarantine.records (note_id, revision);
