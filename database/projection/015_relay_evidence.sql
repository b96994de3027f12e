-- The watcher proves by records what the slot does not prove: which events the audit consumer has seen, and
-- how far it has read.
GRANT USAGE ON SCHEMA audit TO projection_watcher;
GRANT SELECT (event_id, topic, incarnation, partition, "offset", value_sha256, seen_at) ON audit.records TO projection_watcher;
GRANT SELECT ON audit.progress TO projection_watcher;
