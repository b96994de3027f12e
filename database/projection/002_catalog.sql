-- The public read model. A generation is one built copy of it; exactly one is live.
CREATE SCHEMA catalog;

CREATE TABLE catalog.generations (
  generation int PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO catalog.generations (generation) VALUES (1);

-- One row, the pointer every reader follows.
CREATE TABLE catalog.live_generation (
  only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  generation int NOT NULL REFERENCES catalog.generations
);
INSERT INTO catalog.live_generation (generation) VALUES (1);

CREATE TABLE catalog.notes (
  generation     int NOT NULL REFERENCES catalog.generations,
  note_id        text NOT NULL,
  revision       int NOT NULL CHECK (revision >= 1),
  event_id       uuid NOT NULL,
  title          text NOT NULL,
  url            text,
  type           text NOT NULL,
  body           text NOT NULL,
  visibility     text NOT NULL CHECK (visibility IN ('public', 'withdrawn')),
  content_digest text NOT NULL GENERATED ALWAYS AS (content_digest(title, url, type, body, visibility)) STORED,
  revised_at     timestamptz NOT NULL, -- the event's occurredAt: a source fact, the same in every rebuild
  applied_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (generation, note_id)
);
-- The order of GET /notes and its keyset cursor.
CREATE INDEX notes_in_list_order ON catalog.notes (generation, revised_at DESC, note_id DESC)
  WHERE visibility = 'public';

-- The revision rule, whatever code writes: what readers see of a note never goes back.
CREATE FUNCTION catalog.refuse_older_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'catalog.notes: % is at revision %, refusing revision %', old.note_id, old.revision, new.revision
    USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'notes_revision_never_goes_back';
END
$$;
CREATE TRIGGER notes_revision_never_goes_back BEFORE UPDATE ON catalog.notes
  FOR EACH ROW WHEN (new.revision <= old.revision) EXECUTE FUNCTION catalog.refuse_older_revision();

-- Event ids already applied. The second key makes two events for one revision impossible.
CREATE TABLE catalog.inbox (
  generation     int NOT NULL REFERENCES catalog.generations,
  event_id       uuid NOT NULL,
  note_id        text NOT NULL,
  revision       int NOT NULL,
  content_digest text NOT NULL,
  applied_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (generation, event_id),
  CONSTRAINT inbox_one_event_per_revision UNIQUE (generation, note_id, revision)
);
