-- What was cancelled or erased is no reason for anything any more.

-- As in 011, but for one thing: only a replay that still runs needs the envelopes of its keys. One that was cancelled
-- leaves keys behind that it never sent.
CREATE OR REPLACE FUNCTION prune_envelopes(p_event_ids uuid[], p_older_than interval) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH taken AS (
    SELECT o.event_id FROM public.outbox o
    WHERE o.event_id = ANY (p_event_ids) AND o.pruned_at IS NULL
      AND o.created_at < clock_timestamp() - greatest(p_older_than, interval '1 day')
      AND NOT EXISTS (SELECT FROM public.replay_keys k JOIN public.replays r ON r.id = k.replay
                      WHERE k.event_id = o.event_id AND k.state IN ('waiting', 'requested')
                        AND r.finished_at IS NULL)
      AND NOT EXISTS (SELECT FROM public.relay_replays r WHERE r.event_id = o.event_id)
    FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE public.outbox o SET envelope = NULL, pruned_at = clock_timestamp(), pruned_why = 'retention'
  FROM taken WHERE o.event_id = taken.event_id
  RETURNING o.event_id
$$;

-- What a replay was sending while it was cancelled.
DELETE FROM relay_replay_batches b USING replays r WHERE r.id = b.replay AND r.finished_at IS NOT NULL;

-- A revision without an intent that was erased can get none any more: nobody has anything to decide about it.
CREATE FUNCTION revision_erased() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  DELETE FROM public.revisions_without_intent WHERE note_id = new.note_id AND revision = new.revision;
  RETURN NULL;
END
$$;
CREATE TRIGGER revision_erased AFTER UPDATE OF erased_at ON note_revisions
  FOR EACH ROW WHEN (new.erased_at IS NOT NULL) EXECUTE FUNCTION revision_erased();
REVOKE EXECUTE ON FUNCTION revision_erased FROM PUBLIC;

DELETE FROM revisions_without_intent w USING note_revisions r
WHERE r.note_id = w.note_id AND r.revision = w.revision AND r.erased_at IS NOT NULL;
