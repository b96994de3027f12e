-- Erasure: the content of a note is taken away for good, and its absence is published as the next revision.

-- The row stays, as everything that refers to it does; its content is the placeholder.
ALTER TABLE note_revisions
  ADD COLUMN erased_at timestamptz,
  ADD CONSTRAINT erased_revisions_have_no_content CHECK (
    erased_at IS NULL
    OR title = 'erased' AND url IS NULL AND type = 'erased' AND body = '' AND visibility = 'withdrawn');

-- A skipped intent that was erased is missing no more, but never seen either.
ALTER TABLE relay_skipped
  ADD COLUMN erased_at timestamptz,
  ADD CHECK (erased_at IS NULL OR seen_at IS NOT NULL);

-- One row a note. What is newer than the tombstone is new content, and none of the erasure's business.
-- `step` is the one to do next: the source's own part is done when the row is there, what is left is in the
-- other database, and whoever comes after a crash goes on with it.
CREATE TABLE erasures (
  note_id            text COLLATE "C" PRIMARY KEY REFERENCES notes,
  through_revision   int NOT NULL CHECK (through_revision >= 1),
  tombstone_revision int NOT NULL CHECK (tombstone_revision = through_revision + 1),
  tombstone_event_id uuid NOT NULL REFERENCES outbox (event_id),
  action_id          uuid NOT NULL REFERENCES operator_actions,
  erased_at          timestamptz NOT NULL,
  step               text NOT NULL DEFAULT 'projection' CHECK (step IN ('projection', 'tombstone')),
  changed_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  error              text,        -- why the step was not done the last time
  finished_at        timestamptz
);
CREATE INDEX erasures_unfinished ON erasures (erased_at, note_id) WHERE finished_at IS NULL;
CREATE INDEX erasures_by_time ON erasures (erased_at DESC, note_id DESC);

-- The source's part, in the caller's transaction. As its owner: nobody else may change an accepted revision.
--
-- The note's row is locked first, as a write does: a write is before it, and erased, or after it, and gets a
-- revision conflict. The tombstone is accepted as any other revision is.
--
-- What could be guessed back goes too. A short text is found by hashing guesses: so no digest of it is kept,
-- nor an idempotency key, which clients make from content. A retry of an old request finds no receipt and is
-- answered by the revision.
--
-- outcome:
--   erased   every revision before p_tombstone_revision
--   already  the newest revision is an erasure's tombstone; nothing was changed
--   moved    the note is not at p_tombstone_revision - 1; nothing was changed, current_revision says where it is
--   no-note  nothing was changed
CREATE FUNCTION erase_note(
  p_action_id uuid, p_principal text, p_note_id text, p_tombstone_revision int, p_occurred_at timestamptz,
  p_event_id uuid, p_envelope bytea, p_traceparent text, p_answer jsonb,
  OUT outcome text, OUT current_revision int
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := clock_timestamp();
  accepted text;
BEGIN
  SELECT n.revision INTO current_revision FROM notes n WHERE n.note_id = p_note_id FOR UPDATE;
  IF NOT FOUND THEN
    outcome := 'no-note';
    RETURN;
  END IF;
  -- A revision that was written around the API may be above what the note says.
  SELECT greatest(current_revision, max(r.revision)) INTO current_revision
  FROM note_revisions r WHERE r.note_id = p_note_id;
  PERFORM FROM erasures e WHERE e.note_id = p_note_id AND e.tombstone_revision = current_revision;
  IF FOUND THEN
    outcome := 'already';
    RETURN;
  END IF;
  IF p_tombstone_revision - 1 <> current_revision THEN
    outcome := 'moved';
    RETURN;
  END IF;

  UPDATE notes n SET revision = current_revision WHERE n.note_id = p_note_id AND n.revision < current_revision;
  SELECT a.outcome INTO accepted FROM accept_command(
    p_principal, 'erasure-' || p_action_id, sha256(convert_to('erasure-' || p_action_id, 'UTF8')),
    p_note_id, p_tombstone_revision, 'erased', NULL, 'erased', '', 'withdrawn',
    p_occurred_at, p_event_id, 'NoteWithdrawn', p_envelope, p_traceparent, p_answer) a;
  IF accepted <> 'accepted' THEN
    RAISE EXCEPTION 'erase_note: the tombstone %:% was not accepted: %', p_note_id, p_tombstone_revision, accepted;
  END IF;

  -- FOR UPDATE: an intent that is being made by hand for one of them is there before, or sees the placeholder.
  PERFORM FROM note_revisions r WHERE r.note_id = p_note_id AND r.revision < p_tombstone_revision FOR UPDATE;
  UPDATE note_revisions r
  SET title = 'erased', url = NULL, type = 'erased', body = '', visibility = 'withdrawn', erased_at = moment
  WHERE r.note_id = p_note_id AND r.revision < p_tombstone_revision AND r.erased_at IS NULL;
  UPDATE outbox o
  SET envelope = NULL, envelope_sha256 = NULL, pruned_at = coalesce(o.pruned_at, moment), pruned_why = 'erased'
  WHERE o.note_id = p_note_id AND o.revision < p_tombstone_revision;
  UPDATE request_receipts r
  SET idempotency_key = 'erased-' || gen_random_uuid(),
      fingerprint = sha256(convert_to(gen_random_uuid()::text, 'UTF8'))
  WHERE r.event_id IN (SELECT o.event_id FROM outbox o
                       WHERE o.note_id = p_note_id AND o.revision < p_tombstone_revision);
  -- Who made an intent by hand saw, and recorded, digests of what it publishes.
  UPDATE operator_actions a SET details = a.details - 'contentDigest' - 'envelopeSha256'
  WHERE a.action = 'intents.create'
    AND a.target IN (SELECT p_note_id || ':' || r.revision FROM note_revisions r
                     WHERE r.note_id = p_note_id AND r.revision < p_tombstone_revision);
  UPDATE replay_keys k
  SET envelope_sha256 = '',
      state = CASE WHEN k.state IN ('waiting', 'requested') THEN 'refused' ELSE k.state END,
      refused_why = CASE WHEN k.state IN ('waiting', 'requested') THEN 'Its content was erased meanwhile.'
                         ELSE k.refused_why END
  WHERE k.event_id IN (SELECT o.event_id FROM outbox o
                       WHERE o.note_id = p_note_id AND o.revision < p_tombstone_revision);
  UPDATE relay_skipped k SET seen_at = moment, erased_at = moment
  WHERE k.event_id IN (SELECT o.event_id FROM outbox o
                       WHERE o.note_id = p_note_id AND o.revision < p_tombstone_revision)
    AND k.seen_at IS NULL;

  INSERT INTO erasures (note_id, through_revision, tombstone_revision, tombstone_event_id, action_id, erased_at)
  VALUES (p_note_id, current_revision, p_tombstone_revision, p_event_id, p_action_id, moment)
  ON CONFLICT (note_id) DO UPDATE
  SET through_revision = excluded.through_revision, tombstone_revision = excluded.tombstone_revision,
      tombstone_event_id = excluded.tombstone_event_id, action_id = excluded.action_id,
      erased_at = excluded.erased_at, step = 'projection', changed_at = moment, error = NULL, finished_at = NULL;
  outcome := 'erased';
END
$$;
-- As in 004, but for one thing: whether a revision that was erased had this content cannot be told any more. Then
-- same_content is NULL although event_id is not.
CREATE OR REPLACE FUNCTION accept_command(
  p_principal text, p_idempotency_key text, p_fingerprint bytea,
  p_note_id text, p_revision int, p_title text, p_url text, p_type text, p_body text, p_visibility text,
  p_occurred_at timestamptz, p_event_id uuid, p_event_type text, p_envelope bytea, p_traceparent text,
  p_answer jsonb,
  OUT outcome text, OUT answer jsonb, OUT event_id uuid, OUT current_revision int, OUT same_content boolean
) LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  receipt request_receipts;
BEGIN
  LOOP
    INSERT INTO request_receipts (principal, idempotency_key, fingerprint, event_id, note_id, revision, answer)
    VALUES (p_principal, p_idempotency_key, p_fingerprint, p_event_id, p_note_id, p_revision, p_answer)
    ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;

    SELECT * INTO receipt FROM request_receipts r
    WHERE r.principal = p_principal AND r.idempotency_key = p_idempotency_key;
    IF FOUND THEN
      outcome := CASE WHEN receipt.fingerprint = p_fingerprint THEN 'replayed' ELSE 'key-reused' END;
      answer := receipt.answer;
      event_id := receipt.event_id;
      RETURN;
    END IF;
    -- The receipt was there and is gone: retention took it between the two statements. Once more.
  END LOOP;

  IF p_revision = 1 THEN
    INSERT INTO notes (note_id, revision) VALUES (p_note_id, 1) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE notes n SET revision = p_revision, updated_at = now()
    WHERE n.note_id = p_note_id AND n.revision = p_revision - 1;
  END IF;

  IF NOT FOUND THEN
    DELETE FROM request_receipts r WHERE r.principal = p_principal AND r.idempotency_key = p_idempotency_key;
    outcome := 'revision-conflict';
    SELECT n.revision INTO current_revision FROM notes n WHERE n.note_id = p_note_id;
    SELECT o.event_id INTO event_id FROM outbox o WHERE o.note_id = p_note_id AND o.revision = p_revision;
    SELECT CASE WHEN r.erased_at IS NULL
                THEN r.content_digest = content_digest(p_title, p_url, p_type, p_body, p_visibility) END
    INTO same_content FROM note_revisions r WHERE r.note_id = p_note_id AND r.revision = p_revision;
    current_revision := coalesce(current_revision, 0);
    RETURN;
  END IF;

  INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
  VALUES (p_note_id, p_revision, p_title, p_url, p_type, p_body, p_visibility, p_occurred_at);
  INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
  VALUES (p_note_id, p_revision, p_event_id, p_event_type, p_envelope, p_traceparent);
  outcome := 'accepted';
  answer := p_answer;
  event_id := p_event_id;
END
$$;

REVOKE EXECUTE ON FUNCTION erase_note FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_note TO notes_operator;

GRANT SELECT ON erasures TO notes_operator, notes_verifier;
GRANT SELECT (note_id, through_revision, tombstone_revision, erased_at) ON erasures TO notes_write_api;
GRANT UPDATE (step, changed_at, error, finished_at) ON erasures TO notes_operator;
GRANT SELECT (pruned_why) ON outbox TO notes_watcher;
