-- Several built copies of a projection, fed side by side. The state is what the projector goes by; it looks
-- every half second:
--   seeding   filled from a snapshot of the source; no record is applied to it yet
--   fed       a consumer of its own applies records to it, from the progress rows that were put in with this state
--   dropping  no record is applied any more; its rows are deleted in batches, and this row last
-- A number is used once: its group and what operators were told about it are named after it.
ALTER TABLE catalog.generations
  ADD COLUMN state      text NOT NULL DEFAULT 'fed' CHECK (state IN ('seeding', 'fed', 'dropping')),
  ADD COLUMN rebuild_id uuid;

-- Generations of audit share one ledger: a second one only reads the topic again and adds the rows that are
-- missing. Evidence goes by the first, so that one is always fed.
CREATE TABLE audit.generations (
  generation int PRIMARY KEY,
  state      text NOT NULL DEFAULT 'fed' CHECK (state IN ('fed', 'dropping')),
  rebuild_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT first_audit_generation_is_fed CHECK (generation > 1 OR state = 'fed')
);
INSERT INTO audit.generations (generation) VALUES (1);
ALTER TABLE audit.progress DROP CONSTRAINT progress_generation_check;
ALTER TABLE audit.progress ADD FOREIGN KEY (generation) REFERENCES audit.generations;

-- Each fed generation costs the projector a pool and a consumer, and the database every write once more. A
-- generation that is being dropped counts too, until it is gone. The number: core/generations.ts.
CREATE FUNCTION public.at_most_three_generations() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  existing int;
BEGIN
  -- One at a time: two that count at the same moment would both find room.
  PERFORM pg_advisory_xact_lock(hashtext(tg_table_schema || '.generations'));
  EXECUTE format('SELECT count(*) FROM %I.generations', tg_table_schema) INTO existing;
  IF existing >= 3 THEN
    RAISE EXCEPTION '% has % generations already, no more fit: drop one first', tg_table_schema, existing
      USING ERRCODE = 'check_violation', CONSTRAINT = 'at_most_three_generations';
  END IF;
  RETURN new;
END
$$;
CREATE TRIGGER at_most_three BEFORE INSERT ON catalog.generations
  FOR EACH ROW EXECUTE FUNCTION public.at_most_three_generations();
CREATE TRIGGER at_most_three BEFORE INSERT ON audit.generations
  FOR EACH ROW EXECUTE FUNCTION public.at_most_three_generations();

-- Readers only ever see a generation that is fed: neither a half seeded one nor one whose rows go away.
CREATE FUNCTION catalog.live_generation_is_fed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM catalog.generations WHERE generation = new.generation AND state = 'fed' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'generation % of catalog is not fed, it cannot go live', new.generation
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_generation_is_fed';
  END IF;
  RETURN new;
END
$$;
CREATE TRIGGER live_generation_is_fed BEFORE INSERT OR UPDATE ON catalog.live_generation
  FOR EACH ROW EXECUTE FUNCTION catalog.live_generation_is_fed();

CREATE FUNCTION catalog.live_generation_stays_fed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM catalog.live_generation WHERE generation = old.generation FOR SHARE;
  IF FOUND THEN
    RAISE EXCEPTION 'generation % of catalog is live, it stays fed', old.generation
      USING ERRCODE = 'check_violation', CONSTRAINT = 'live_generation_is_fed';
  END IF;
  RETURN new;
END
$$;
CREATE TRIGGER live_generation_stays_fed BEFORE UPDATE OF state ON catalog.generations
  FOR EACH ROW WHEN (old.state = 'fed' AND new.state <> 'fed') EXECUTE FUNCTION catalog.live_generation_stays_fed();

-- One way only: what is half dropped never comes back, and what was fed is not seeded again.
CREATE FUNCTION catalog.generation_states_go_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'generation % of %: % cannot become %', old.generation, tg_table_schema, old.state, new.state
    USING ERRCODE = 'check_violation', CONSTRAINT = 'generation_states_go_on';
END
$$;
CREATE TRIGGER states_go_on BEFORE UPDATE OF state ON catalog.generations
  FOR EACH ROW WHEN (old.state <> new.state AND (old.state = 'dropping' OR new.state = 'seeding'))
  EXECUTE FUNCTION catalog.generation_states_go_on();
CREATE TRIGGER states_go_on BEFORE UPDATE OF state ON audit.generations
  FOR EACH ROW WHEN (old.state = 'dropping' AND new.state <> 'dropping')
  EXECUTE FUNCTION catalog.generation_states_go_on();

-- What operators asked for, and how far it is: everything that a process which starts anew needs to go on.
CREATE TABLE public.rebuilds (
  id           uuid PRIMARY KEY REFERENCES operator_actions, -- who and why stands there
  consumer     text NOT NULL CHECK (consumer IN ('catalog', 'audit')),
  generation   int NOT NULL CHECK (generation > 1),
  from_kind    text NOT NULL CHECK (from_kind IN ('beginning', 'offset', 'time', 'source')),
  start        jsonb NOT NULL, -- {"0": "12", ...}: per partition the first offset that is read
  status       text NOT NULL CHECK (status IN ('seeding', 'catching-up', 'ready', 'switched', 'rolled-back',
                 'dropping', 'dropped', 'failed')),
  seeded_after text NOT NULL DEFAULT '', -- seeding is done up to this note id
  seeded       int NOT NULL DEFAULT 0,   -- notes
  notes        jsonb NOT NULL DEFAULT '[]', -- what the operator has to know about it, for a person
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  error        text,
  CHECK ((status = 'failed') = (error IS NOT NULL)),
  UNIQUE (consumer, generation)
);
CREATE INDEX rebuilds_by_time ON public.rebuilds (created_at DESC, id);

-- Operators write no notes: a seed puts rows only into a generation that nobody reads and nothing feeds.
CREATE FUNCTION catalog.must_be_seeding(which int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM catalog.generations WHERE generation = which AND state = 'seeding' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'generation % of catalog is not being seeded', which
      USING ERRCODE = 'check_violation', CONSTRAINT = 'only_seeding_is_seeded';
  END IF;
END
$$;

-- Notes at the revision that the snapshot has. One that is there already stays as it is. Answers how many are new.
CREATE FUNCTION catalog.seed_notes(into_generation int, note_ids text[], revisions int[], event_ids uuid[],
  titles text[], urls text[], types text[], bodies text[], visibilities text[], revised timestamptz[])
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entered int;
BEGIN
  PERFORM catalog.must_be_seeding(into_generation);
  INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
  SELECT into_generation, * FROM unnest(note_ids, revisions, event_ids, titles, urls, types, bodies, visibilities,
    revised)
  ON CONFLICT (generation, note_id) DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  RETURN entered;
END
$$;

-- The events that the seeded notes contain: a record of one of them that follows is a duplicate.
CREATE FUNCTION catalog.seed_inbox(into_generation int, event_ids uuid[], note_ids text[], revisions int[],
  content_digests text[])
RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  entered int;
BEGIN
  PERFORM catalog.must_be_seeding(into_generation);
  INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
  SELECT into_generation, * FROM unnest(event_ids, note_ids, revisions, content_digests)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS entered = ROW_COUNT;
  RETURN entered;
END
$$;

-- Deletes at most max_rows rows of a generation that is dropping; the generation's own row once nothing else is
-- left. Answers how many rows went: 0 says that it is gone.
CREATE FUNCTION catalog.drop_batch(which int, max_rows int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  gone int;
BEGIN
  PERFORM FROM catalog.generations WHERE generation = which AND state = 'dropping' FOR SHARE;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM catalog.generations WHERE generation = which) THEN RETURN 0; END IF;
    RAISE EXCEPTION 'generation % of catalog is not dropping', which
      USING ERRCODE = 'check_violation', CONSTRAINT = 'only_dropping_is_dropped';
  END IF;
  -- Progress first: without its row no instance can apply a batch to this generation.
  DELETE FROM catalog.progress WHERE generation = which;
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM catalog.notes WHERE ctid = ANY (ARRAY(SELECT ctid FROM catalog.notes WHERE generation = which LIMIT max_rows));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM catalog.inbox WHERE ctid = ANY (ARRAY(SELECT ctid FROM catalog.inbox WHERE generation = which LIMIT max_rows));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM catalog.irregular_records
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM catalog.irregular_records WHERE generation = which LIMIT max_rows));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM catalog.revision_gaps
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM catalog.revision_gaps WHERE generation = which LIMIT max_rows));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM quarantine.records
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM quarantine.records
                          WHERE consumer = 'catalog' AND generation = which LIMIT max_rows));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone > 0 THEN RETURN gone; END IF;
  DELETE FROM public.stopped_partitions WHERE consumer = 'catalog' AND generation = which;
  BEGIN
    DELETE FROM catalog.generations WHERE generation = which;
  EXCEPTION WHEN foreign_key_violation THEN
    NULL; -- A redrive that had begun before has just put rows in: they go with the next call.
  END;
  RETURN 1;
END
$$;

-- The same of audit: what it added to the ledger stays.
CREATE FUNCTION audit.drop_generation(which int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM audit.generations WHERE generation = which AND state = 'dropping' FOR UPDATE;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM audit.generations WHERE generation = which) THEN RETURN; END IF;
    RAISE EXCEPTION 'generation % of audit is not dropping', which
      USING ERRCODE = 'check_violation', CONSTRAINT = 'only_dropping_is_dropped';
  END IF;
  DELETE FROM audit.progress WHERE generation = which;
  DELETE FROM quarantine.records WHERE consumer = 'audit' AND generation = which;
  DELETE FROM public.stopped_partitions WHERE consumer = 'audit' AND generation = which;
  DELETE FROM audit.generations WHERE generation = which;
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public, catalog, audit FROM PUBLIC;
GRANT EXECUTE ON FUNCTION catalog.seed_notes, catalog.seed_inbox, catalog.drop_batch, audit.drop_generation
  TO projection_operator;

GRANT SELECT ON audit.generations TO projection_projector, projection_watcher;
GRANT SELECT ON catalog.generations TO projection_watcher;
GRANT SELECT ON audit.generations, public.rebuilds TO projection_operator, projection_verifier;
GRANT INSERT (generation, state, rebuild_id), UPDATE (state) ON catalog.generations, audit.generations
  TO projection_operator;
GRANT UPDATE (generation) ON catalog.live_generation TO projection_operator;
GRANT INSERT, UPDATE ON public.rebuilds TO projection_operator;
-- Start positions are ordinary progress rows. Their incarnation is that of the generation they are made beside:
-- in the ledger, and when two generations are compared, an offset means the same record only within one.
GRANT INSERT (incarnation) ON catalog.progress, audit.progress TO projection_operator;
