-- The whole decision about one command, in one transaction and one round trip.
--
-- VOLATILE plpgsql on purpose: each statement takes a new snapshot, so that after waiting for another
-- transaction with the same key, the winner's receipt is visible. A single SQL statement could not see it.
--
-- outcome:
--   accepted           this call wrote note, revision, outbox row and receipt
--   replayed           the same key and content were accepted before; answer is the original
--   key-reused         the same key was used for other content
--   revision-conflict  the note is not at p_revision - 1; nothing was written. When p_revision exists,
--                      event_id names its event and same_content says whether its content is this one.
CREATE FUNCTION accept_command(
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
    SELECT r.content_digest = content_digest(p_title, p_url, p_type, p_body, p_visibility) INTO same_content
    FROM note_revisions r WHERE r.note_id = p_note_id AND r.revision = p_revision;
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
