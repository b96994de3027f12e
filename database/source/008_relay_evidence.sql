-- What the watcher needs to claim nothing that it cannot prove.
--
-- confirmed_holder names the walsender under which confirmed_snapshot was taken (see relay_slot_holder). Only
-- while the same one holds the slot does its position prove the commits that come next: between two holders
-- anybody may have moved the slot.
-- checked_snapshot: every intent visible in it has a record in the topic, as a consumer saw it, or stands in
-- relay_skipped.
-- settled_at: the incarnation has ended and each of its intents was looked at like that.
ALTER TABLE relay_slots
  ADD COLUMN confirmed_holder text,
  ADD COLUMN checked_snapshot pg_snapshot,
  ADD COLUMN checked_lsn      pg_lsn,
  ADD COLUMN checked_at       timestamptz,
  ADD COLUMN settled_at       timestamptz,
  -- Transactions that began before this one may still commit with an earlier incarnation.
  ADD COLUMN transaction_id   xid8 NOT NULL DEFAULT pg_current_xact_id();

-- What a record of the intent holds. A record that names the event and has other bytes is not this intent's:
-- whoever may write to the topic can name any event in a header. NULL after pruning: then the name has to do.
ALTER TABLE outbox ADD COLUMN envelope_sha256 bytea GENERATED ALWAYS AS (sha256(envelope)) STORED;

-- The way through an incarnation's intents in pages, from a snapshot on. It grows at its end.
CREATE INDEX outbox_by_transaction ON outbox (relay_incarnation, transaction_id, event_id);

-- Intents that the relay went past: committed before a position that it confirmed, or within a slot that is
-- gone, and no consumer has a record although it has read the topic to an end that was read afterwards.
CREATE TABLE relay_skipped (
  event_id       uuid PRIMARY KEY REFERENCES outbox (event_id),
  note_id        text NOT NULL,
  revision       int NOT NULL,
  incarnation    int NOT NULL REFERENCES relay_slots,
  transaction_id xid8 NOT NULL, -- of the intent: the order to replay in
  found_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at        timestamptz    -- when a record was found after all; NULL: still missing
);
CREATE INDEX relay_skipped_open ON relay_skipped (transaction_id, event_id) WHERE seen_at IS NULL;

-- Records that prove what no slot proves: of intents from before the present slot, and of skipped ones.
CREATE TABLE relay_records_seen (
  event_id    uuid PRIMARY KEY REFERENCES outbox (event_id),
  topic       text NOT NULL,
  partition   int NOT NULL,
  "offset"    bigint NOT NULL,
  seen_at     timestamptz NOT NULL, -- by the consumer
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Who reads a slot now, as an identity that no other reading of it ever has: process, its start, and the
-- start of its START_REPLICATION. is_connector: it is a walsender of Debezium's role under Debezium's name.
-- As its owner, who may read all statistics, so that the watcher itself need not.
CREATE FUNCTION relay_slot_holder(p_slot_name text, OUT pid int, OUT holder text, OUT user_name name,
                                  OUT application_name text, OUT is_connector boolean)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.pid,
         format('%s/%s/%s', a.pid, extract(epoch FROM a.backend_start), extract(epoch FROM a.query_start)),
         a.usename, a.application_name,
         coalesce(a.backend_type = 'walsender' AND a.usename = 'notes_debezium'
                  AND a.application_name = 'Debezium Streaming'
                  AND a.backend_start IS NOT NULL AND a.query_start IS NOT NULL, false)
  FROM pg_replication_slots s JOIN pg_stat_activity a ON a.pid = s.active_pid
  WHERE s.slot_name = p_slot_name
$$;

-- One recovery at a time is unfinished; `step` is the one to do next, so that whoever comes after a crash goes on.
CREATE TABLE relay_recoveries (
  id          uuid PRIMARY KEY, -- of the operator action
  slot_name   text NOT NULL,
  situation   text NOT NULL,
  step        text NOT NULL,
  incarnation int REFERENCES relay_slots, -- the new slot, once it is recorded
  started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  error       text,             -- why the step did not work the last time
  replayed    int NOT NULL DEFAULT 0,
  finished_at timestamptz
);
CREATE UNIQUE INDEX relay_recoveries_one_at_a_time ON relay_recoveries ((true)) WHERE finished_at IS NULL;

-- What is to be replayed, a batch a signal: the signal's filter selects from here, so that it stays short.
CREATE TABLE relay_replays (
  batch    uuid NOT NULL,
  note_id  text NOT NULL,
  revision int NOT NULL,
  event_id uuid NOT NULL,
  position int NOT NULL, -- in commit order
  PRIMARY KEY (batch, note_id, revision)
);
CREATE TABLE relay_replay_batches (
  batch        uuid PRIMARY KEY,
  recovery     uuid NOT NULL REFERENCES relay_recoveries,
  keys         int NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE relay_replays ADD FOREIGN KEY (batch) REFERENCES relay_replay_batches ON DELETE CASCADE;

REVOKE EXECUTE ON FUNCTION relay_slot_holder FROM PUBLIC;
GRANT EXECUTE ON FUNCTION relay_slot_holder TO notes_watcher, notes_operator, notes_recovery;
GRANT UPDATE (confirmed_holder, checked_snapshot, checked_lsn, checked_at, settled_at) ON relay_slots TO notes_watcher;
GRANT SELECT (envelope_sha256) ON outbox TO notes_watcher;
GRANT SELECT, INSERT ON relay_skipped, relay_records_seen TO notes_watcher;
GRANT UPDATE (seen_at) ON relay_skipped TO notes_watcher;
GRANT SELECT ON relay_skipped, relay_records_seen TO notes_write_api, notes_operator, notes_verifier;
GRANT SELECT, INSERT ON relay_recoveries, relay_replays, relay_replay_batches TO notes_operator;
GRANT UPDATE (step, changed_at, error, replayed, finished_at) ON relay_recoveries TO notes_operator;
GRANT DELETE ON relay_replay_batches, relay_replays TO notes_operator;
GRANT SELECT ON relay_recoveries, relay_replays, relay_replay_batches TO notes_verifier;
GRANT SELECT ON relay_recoveries TO notes_recovery;
GRANT UPDATE (incarnation, step, changed_at, error) ON relay_recoveries TO notes_recovery;
GRANT SELECT (batch, note_id, revision) ON relay_replays TO notes_debezium;
