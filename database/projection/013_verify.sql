-- Comparing a million notes with the source in seconds: see source/009_verify.sql.
ALTER TABLE catalog.notes DROP CONSTRAINT notes_pkey;
ALTER TABLE catalog.notes ALTER COLUMN note_id TYPE text COLLATE "C";
ALTER TABLE catalog.inbox ALTER COLUMN note_id TYPE text COLLATE "C";
ALTER TABLE audit.records ALTER COLUMN note_id TYPE text COLLATE "C";

-- The keys carry what a comparison reads.
ALTER TABLE catalog.notes ADD PRIMARY KEY (generation, note_id) INCLUDE (revision, content_digest);
ALTER TABLE catalog.inbox DROP CONSTRAINT inbox_one_event_per_revision;
ALTER TABLE catalog.inbox ADD CONSTRAINT inbox_one_event_per_revision
  UNIQUE (generation, note_id, revision) INCLUDE (event_id);
-- event_id and value_sha256 as key columns: duplicates of an event then lie side by side.
DROP INDEX audit.records_by_note;
CREATE INDEX records_by_note ON audit.records (note_id, revision, event_id, value_sha256);

-- Records that do not name all three: looked at one by one, since they fit no range.
CREATE INDEX records_unnamed ON audit.records (event_id, note_id, revision)
  WHERE event_id IS NULL OR note_id IS NULL OR revision IS NULL;
