-- The ledger of every record seen, decodable or not: evidence that the broker has an event, of
-- duplicates and of replays. Its primary key is the consumer's inbox.
CREATE SCHEMA audit;

CREATE TABLE audit.records (
  incarnation  int NOT NULL,
  topic        text NOT NULL,
  partition    int NOT NULL,
  "offset"     bigint NOT NULL,
  broker_time  timestamptz NOT NULL,
  operation    text,        -- header op: c = first delivery, r = replay; NULL when absent
  wal_lsn      pg_lsn,      -- of the source's row; NULL for a replay
  wal_tx_id    bigint,
  committed_at timestamptz, -- header source.ts_us; NULL for a replay
  event_id     uuid,        -- header id; NULL when absent or not a UUID
  event_type   text,
  note_id      text,        -- the key, when it is one
  revision     int,
  traceparent  text,
  schema_id    int,
  value_bytes  int,         -- size in bytes; NULL for a tombstone
  value_sha256 bytea,
  seen_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic, incarnation, partition, "offset")
);
CREATE INDEX records_by_event ON audit.records (event_id);
CREATE INDEX records_by_note ON audit.records (note_id, revision);
