-- What each role may do here; tests try what it must not.
-- A role with REPLICATION can read the whole write-ahead log, whatever the grants below say.
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO notes_write_api, notes_debezium, notes_watcher, notes_operator, notes_verifier;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
GRANT EXECUTE ON FUNCTION content_digest, current_relay_incarnation, accept_command TO notes_write_api;

GRANT SELECT, INSERT ON notes, note_revisions, outbox, request_receipts, known_schemas TO notes_write_api;
GRANT UPDATE (revision, updated_at) ON notes TO notes_write_api;
GRANT DELETE ON request_receipts TO notes_write_api;
GRANT SELECT ON relay_slots TO notes_write_api;

GRANT SELECT ON outbox TO notes_debezium;
GRANT SELECT, INSERT, DELETE ON relay_heartbeat TO notes_debezium;
GRANT SELECT, INSERT ON debezium_signal TO notes_debezium;

GRANT SELECT ON relay_heartbeat, relay_slots, debezium_signal TO notes_watcher;
GRANT SELECT (note_id, revision, event_id, created_at, relay_incarnation, transaction_id) ON outbox TO notes_watcher;
GRANT UPDATE (confirmed_snapshot, confirmed_lsn, confirmed_at) ON relay_slots TO notes_watcher;
GRANT DELETE ON debezium_signal TO notes_watcher;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO notes_operator, notes_verifier;
GRANT INSERT ON debezium_signal TO notes_operator;
