-- Erasure (see source/012_erasure.sql): what was erased at the source, and may come back from nowhere.
--
-- Whoever writes content here takes the shared lock first and looks into this table afterwards; an erasure takes
-- the exclusive one. So each of them is before the erasure, and is erased by it, or after it, and sees it.
CREATE TABLE public.erasures (
  note_id          text COLLATE "C" PRIMARY KEY,
  through_revision int NOT NULL CHECK (through_revision >= 1),
  erased_at        timestamptz NOT NULL, -- at the source, by its clock
  action_id        uuid NOT NULL,        -- of operator_actions, in both databases
  applied_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION public.share_erasures() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock_shared(hashtext('public.erasures'), 0)
$$;

-- A revision never goes back, and never becomes another one. The placeholder alone may take its place.
CREATE OR REPLACE TRIGGER notes_revision_never_goes_back BEFORE UPDATE ON catalog.notes
  FOR EACH ROW
  WHEN (new.revision < old.revision
        OR new.revision = old.revision
          AND (new.event_id, new.title, new.url, new.type, new.body, new.visibility)
            IS DISTINCT FROM (old.event_id, 'erased', NULL, 'erased', '', 'withdrawn'))
  EXECUTE FUNCTION catalog.refuse_older_revision();

-- A record whose content was erased keeps where it lay and what it claimed to be.
ALTER TABLE quarantine.records
  ADD COLUMN erased_at timestamptz,
  ADD CONSTRAINT erased_records_have_no_content CHECK (
    erased_at IS NULL
    OR key IS NULL AND value IS NULL AND headers = '[]' AND state IN ('applied', 'no-effect', 'discarded'));

-- One record in quarantine, by whoever finds out that it is of an erased revision.
CREATE FUNCTION quarantine.erase_content(p_ids bigint[], p_action_id uuid) RETURNS int
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  text_instead CONSTANT text := 'Erased: the content of this note was erased on request.';
  erased int;
BEGIN
  -- Who waits for an attempt learns that there will be none.
  UPDATE public.operator_actions a
  SET status = 'no-effect', finished_at = clock_timestamp()
  FROM quarantine.records r
  WHERE r.id = ANY (p_ids) AND r.state = 'redriving' AND a.id = r.action_id AND a.status = 'requested';
  -- Explanations of a conflict hold digests, those of a refusal what PostgreSQL said about the content.
  UPDATE public.operator_actions a
  SET result = jsonb_build_object('state', 'discarded', 'explanation', text_instead)
  WHERE a.target IN (SELECT 'quarantine/' || id FROM unnest(p_ids) AS id) AND a.status <> 'requested';
  UPDATE quarantine.records r
  SET key = NULL, value = NULL, headers = '[]', explanation = text_instead, resolution = text_instead,
      resolved_at = coalesce(r.resolved_at, clock_timestamp()),
      action_id = CASE WHEN r.resolved_at IS NULL THEN p_action_id ELSE r.action_id END,
      state = CASE WHEN r.resolved_at IS NULL THEN 'discarded' ELSE r.state END,
      erased_at = clock_timestamp()
  WHERE r.id = ANY (p_ids) AND r.erased_at IS NULL;
  GET DIAGNOSTICS erased = ROW_COUNT;
  RETURN erased;
END
$$;

-- Erases in every table here, in one transaction; done again it changes nothing more. As its owner: nobody else
-- may change what is visible, the inbox or the ledger. The action is recorded here before.
-- @param p_events  event ids of the erased revisions: their records may lie under another key
-- @param p_later   event ids of what came afterwards: records of those stay, whatever else they claim
CREATE FUNCTION public.apply_erasure(
  p_note_id text, p_through int, p_erased_at timestamptz, p_action_id uuid, p_events uuid[], p_later uuid[],
  OUT notes int, OUT applied int, OUT records int, OUT quarantined int, OUT gaps int
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  nothing CONSTANT text := public.content_digest('erased', NULL, 'erased', '', 'withdrawn');
  of_generation int;
  closed int;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('public.erasures'), 0);
  INSERT INTO public.erasures AS e (note_id, through_revision, erased_at, action_id)
  VALUES (p_note_id, p_through, p_erased_at, p_action_id)
  ON CONFLICT (note_id) DO UPDATE
  SET through_revision = greatest(e.through_revision, excluded.through_revision),
      erased_at = excluded.erased_at, action_id = excluded.action_id, applied_at = clock_timestamp();

  UPDATE catalog.notes n
  SET title = 'erased', url = NULL, type = 'erased', body = '', visibility = 'withdrawn'
  WHERE n.generation IN (SELECT generation FROM catalog.generations)
    AND n.note_id = p_note_id AND n.revision <= p_through AND n.content_digest <> nothing;
  GET DIAGNOSTICS notes = ROW_COUNT;

  UPDATE catalog.inbox i SET content_digest = nothing
  WHERE i.generation IN (SELECT generation FROM catalog.generations)
    AND i.note_id = p_note_id AND i.revision <= p_through AND i.content_digest <> nothing;
  GET DIAGNOSTICS applied = ROW_COUNT;

  UPDATE audit.records r SET value_sha256 = NULL
  WHERE (r.note_id = p_note_id AND (r.revision IS NULL OR r.revision <= p_through) OR r.event_id = ANY (p_events))
    AND r.value_sha256 IS NOT NULL;
  GET DIAGNOSTICS records = ROW_COUNT;

  quarantined := quarantine.erase_content(ARRAY(
    SELECT r.id FROM quarantine.records r
    WHERE r.erased_at IS NULL
      AND (r.event_id = ANY (p_events)
           OR r.note_id = p_note_id
             AND (r.revision IS NULL OR r.revision <= p_through OR NOT r.decoded)
             AND (r.event_id IS NULL OR r.event_id <> ALL (p_later)))
    ORDER BY r.id FOR UPDATE), p_action_id);

  -- What was never seen of it is not missing any more; of a run that goes on afterwards the rest stays open.
  gaps := 0;
  FOR of_generation IN SELECT generation FROM catalog.generations ORDER BY generation LOOP
    PERFORM pg_advisory_xact_lock(hashtext('catalog.revision_gaps'), of_generation);
    WITH accepted AS (
      UPDATE catalog.revision_gaps g
      SET last_revision = least(g.last_revision, p_through), closed_at = clock_timestamp(),
          closed_how = 'accepted', closed_by_action = p_action_id
      WHERE g.generation = of_generation AND g.note_id = p_note_id AND g.closed_at IS NULL
        AND g.first_revision <= p_through
      RETURNING new.*, old.last_revision AS old_last
    ), still_open AS (
      INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_at,
        opened_by_event, opened_by_revision, topic, incarnation, partition, "offset", alarmed_at)
      SELECT a.generation, a.note_id, p_through + 1, a.old_last, a.opened_at, a.opened_by_event,
        a.opened_by_revision, a.topic, a.incarnation, a.partition, a."offset", a.alarmed_at
      FROM accepted a WHERE a.old_last > p_through
    )
    SELECT count(*) INTO closed FROM accepted;
    gaps := gaps + closed;
  END LOOP;
END
$$;

-- A seed is from a snapshot that may be older than an erasure: those revisions are left out. See 016.
CREATE OR REPLACE FUNCTION catalog.seed_notes(into_generation int, note_ids text[], revisions int[], event_ids uuid[],
  titles text[], urls text[], types text[], bodies text[], visibilities text[], revised timestamptz[])
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entered int;
BEGIN
  PERFORM catalog.must_be_seeding(into_generation);
  PERFORM public.share_erasures();
  INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
  SELECT into_generation, s.* FROM unnest(note_ids, revisions, event_ids, titles, urls, types, bodies, visibilities,
    revised) AS s (note_id, revision, event_id, title, url, type, body, visibility, revised_at)
  WHERE NOT EXISTS (SELECT FROM public.erasures e WHERE e.note_id = s.note_id AND e.through_revision >= s.revision)
  ON CONFLICT (generation, note_id) DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  RETURN entered;
END
$$;

CREATE OR REPLACE FUNCTION catalog.seed_inbox(into_generation int, event_ids uuid[], note_ids text[], revisions int[],
  content_digests text[])
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entered int;
BEGIN
  PERFORM catalog.must_be_seeding(into_generation);
  PERFORM public.share_erasures();
  INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
  SELECT into_generation, s.* FROM unnest(event_ids, note_ids, revisions, content_digests)
    AS s (event_id, note_id, revision, content_digest)
  WHERE NOT EXISTS (SELECT FROM public.erasures e WHERE e.note_id = s.note_id AND e.through_revision >= s.revision)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  RETURN entered;
END
$$;

REVOKE EXECUTE ON FUNCTION public.share_erasures, quarantine.erase_content, public.apply_erasure FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.share_erasures TO projection_projector, projection_operator;
GRANT EXECUTE ON FUNCTION public.apply_erasure TO projection_operator;
GRANT EXECUTE ON FUNCTION quarantine.erase_content TO projection_projector;
GRANT SELECT ON public.erasures TO projection_projector, projection_operator, projection_verifier;
