-- What lists of publications by state go through, so that none of them reads what is in order.

-- Revisions that were committed without an intent: some write path went around accept_command. Kept by triggers,
-- since looking for what is not there would read every revision. A row goes when the intent is made after all.
CREATE TABLE revisions_without_intent (
  note_id  text COLLATE "C" NOT NULL,
  revision int NOT NULL,
  since    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (note_id, revision),
  FOREIGN KEY (note_id, revision) REFERENCES note_revisions ON DELETE CASCADE
);
CREATE INDEX revisions_without_intent_by_age ON revisions_without_intent (since, note_id, revision);

INSERT INTO revisions_without_intent (note_id, revision, since)
SELECT note_id, revision, r.occurred_at
FROM note_revisions r LEFT JOIN outbox o USING (note_id, revision) WHERE o.note_id IS NULL;

-- As the owner, so that no writer needs a right on the table, and none can leave its rows out.
CREATE FUNCTION note_revision_committed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM public.outbox o WHERE o.note_id = new.note_id AND o.revision = new.revision) THEN
    -- The revision may be gone again by now.
    INSERT INTO public.revisions_without_intent (note_id, revision)
    SELECT note_id, revision FROM public.note_revisions WHERE note_id = new.note_id AND revision = new.revision
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END
$$;
-- At the commit: accept_command writes the revision before its intent.
CREATE CONSTRAINT TRIGGER has_intent AFTER INSERT ON note_revisions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION note_revision_committed();

CREATE FUNCTION intent_made() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM public.revisions_without_intent WHERE note_id = new.note_id AND revision = new.revision;
  RETURN NULL;
END
$$;
CREATE TRIGGER intent_made AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION intent_made();

-- Nobody but the owner can do that.
CREATE FUNCTION intent_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.revisions_without_intent (note_id, revision)
  SELECT note_id, revision FROM public.note_revisions WHERE note_id = old.note_id AND revision = old.revision
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER intent_removed AFTER DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION intent_removed();

REVOKE EXECUTE ON FUNCTION note_revision_committed, intent_made, intent_removed FROM PUBLIC;
GRANT SELECT ON revisions_without_intent TO notes_operator, notes_verifier;
