-- Comparing a million notes with the projection in seconds.

-- Note ids are ASCII and are compared byte by byte: ranges of them then mean the same in both databases,
-- whatever collation each has, and no upgrade of the system's locales can put an index out of order.
ALTER TABLE outbox DROP CONSTRAINT outbox_note_id_revision_fkey;
ALTER TABLE note_revisions DROP CONSTRAINT note_revisions_note_id_fkey;
ALTER TABLE note_revisions DROP CONSTRAINT note_revisions_pkey;
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE notes ALTER COLUMN note_id TYPE text COLLATE "C";
ALTER TABLE note_revisions ALTER COLUMN note_id TYPE text COLLATE "C";
ALTER TABLE outbox ALTER COLUMN note_id TYPE text COLLATE "C";

-- The keys carry what a comparison reads, so that it need not touch bodies and envelopes.
ALTER TABLE note_revisions ADD PRIMARY KEY (note_id, revision) INCLUDE (content_digest);
ALTER TABLE outbox ADD PRIMARY KEY (note_id, revision) INCLUDE (event_id, envelope_sha256);
ALTER TABLE note_revisions ADD FOREIGN KEY (note_id) REFERENCES notes;
ALTER TABLE outbox ADD FOREIGN KEY (note_id, revision) REFERENCES note_revisions;

-- For digests that are computed again from the stored columns.
GRANT EXECUTE ON FUNCTION content_digest TO notes_verifier;
