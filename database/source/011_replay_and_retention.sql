-- Replays that an operator asks for, intents made by hand, and what retention takes away.

-- The digest outlives its envelope, so that evidence and comparisons stay exact after pruning. A generated column
-- would become NULL with the envelope; as a plain one it keeps what it has: this changes the catalog and no row.
ALTER TABLE outbox ALTER COLUMN envelope_sha256 DROP EXPRESSION;
ALTER TABLE outbox
  ADD COLUMN pruned_why text CHECK (pruned_why IN ('retention', 'erased')),
  ADD CHECK ((pruned_at IS NULL) = (pruned_why IS NULL)),
  -- A digest of short text can be guessed: the one of erased content goes too. NOT VALID, since the digests of the
  -- rows that are there were generated: checking each would read every envelope while nobody can write.
  ADD CONSTRAINT outbox_envelope_sha256 CHECK (envelope_sha256 = sha256(envelope)) NOT VALID,
  ADD CONSTRAINT outbox_keeps_digest CHECK (envelope_sha256 IS NOT NULL OR pruned_why IS NOT NULL) NOT VALID;

CREATE FUNCTION outbox_digest() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.envelope_sha256 := sha256(NEW.envelope);
  RETURN NEW;
END
$$;
CREATE TRIGGER outbox_digest BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_digest();

-- Whoever may change an intent can only take its bytes away, once: an event that was published never becomes
-- another one.
CREATE FUNCTION outbox_only_pruned() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.envelope IS NOT NULL AND NEW.envelope IS DISTINCT FROM OLD.envelope
     OR NEW.envelope_sha256 IS DISTINCT FROM OLD.envelope_sha256
        AND (NEW.envelope_sha256 IS NOT NULL OR NEW.pruned_why IS DISTINCT FROM 'erased') THEN
    RAISE EXCEPTION 'outbox: the envelope of % can only be pruned', OLD.event_id
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'outbox_only_pruned';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER outbox_only_pruned BEFORE UPDATE OF envelope, envelope_sha256 ON outbox
  FOR EACH ROW EXECUTE FUNCTION outbox_only_pruned();

-- Oldest first; a pruned row leaves them, so that a look never passes what is done.
CREATE INDEX outbox_with_envelope ON outbox (created_at, event_id) WHERE pruned_at IS NULL;
CREATE INDEX request_receipts_by_age ON request_receipts (created_at);

-- A replay of certain keys. One after another is sent; the others wait.
CREATE TABLE replays (
  id              uuid PRIMARY KEY, -- of the operator action
  selection       jsonb NOT NULL,   -- as it was asked for
  keys_per_second int NOT NULL CHECK (keys_per_second BETWEEN 1 AND 10000),
  status          text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'finished', 'cancelled')),
  waits_for       text,             -- why nothing moves at present
  started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at     timestamptz,
  CHECK ((status = 'running') = (finished_at IS NULL))
);
CREATE INDEX replays_running ON replays (started_at, id) WHERE finished_at IS NULL;
CREATE INDEX replays_by_time ON replays (started_at DESC, id);

CREATE TABLE replay_keys (
  replay          uuid NOT NULL REFERENCES replays,
  position        int NOT NULL, -- the order in which they are sent
  note_id         text COLLATE "C" NOT NULL,
  revision        int NOT NULL,
  event_id        uuid NOT NULL REFERENCES outbox (event_id),
  envelope_sha256 bytea NOT NULL,
  requested_at    timestamptz,  -- when the signal for it was written the first time
  first_offset    bigint,       -- the end of its partition then: a record from there on is one of this replay
  state           text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'requested', 'seen', 'refused')),
  refused_why     text,
  topic           text,
  partition       int,
  "offset"        bigint,       -- of the new record
  seen_at         timestamptz,  -- by the consumer
  PRIMARY KEY (replay, position),
  UNIQUE (replay, note_id, revision),
  CHECK ((state = 'seen') = ("offset" IS NOT NULL)),
  CHECK ((state = 'refused') = (refused_why IS NOT NULL))
);
CREATE INDEX replay_keys_open ON replay_keys (event_id) WHERE state IN ('waiting', 'requested');
CREATE INDEX replay_keys_by_event ON replay_keys (event_id);

-- A batch belongs to a recovery of the relay or to a replay.
ALTER TABLE relay_replay_batches
  ALTER COLUMN recovery DROP NOT NULL,
  ADD COLUMN replay uuid REFERENCES replays,
  ADD CHECK (num_nonnulls(recovery, replay) = 1);
CREATE INDEX relay_replays_by_event ON relay_replays (event_id);

-- What a run of retention did and where it is. One at a time is unfinished.
CREATE TABLE retention_runs (
  id            uuid PRIMARY KEY, -- of the operator action
  limits        jsonb NOT NULL,   -- the contract's numbers it works with
  step          text NOT NULL DEFAULT 'envelopes' CHECK (step IN ('envelopes', 'receipts')),
  after_time    timestamptz,      -- looked at up to here: created_at and event id of the last one
  after_event   uuid,
  pruned        bigint NOT NULL DEFAULT 0,
  receipts      bigint NOT NULL DEFAULT 0,
  kept          jsonb NOT NULL DEFAULT '{}', -- count by reason
  error         text,
  started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished_at   timestamptz
);
CREATE UNIQUE INDEX retention_runs_one_at_a_time ON retention_runs ((true)) WHERE finished_at IS NULL;
CREATE INDEX retention_runs_by_time ON retention_runs (started_at DESC, id);

-- The three things an operator may do to intents and receipts, as functions of the owner: no grant is as narrow.

-- Takes the envelopes of these events that are older than asked for (a day at least) and that no replay still
-- needs. The caller has seen that every consumer has applied them. Rows that somebody holds are left out.
CREATE FUNCTION prune_envelopes(p_event_ids uuid[], p_older_than interval) RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH taken AS (
    SELECT o.event_id FROM public.outbox o
    WHERE o.event_id = ANY (p_event_ids) AND o.pruned_at IS NULL
      AND o.created_at < clock_timestamp() - greatest(p_older_than, interval '1 day')
      AND NOT EXISTS (SELECT FROM public.replay_keys k
                      WHERE k.event_id = o.event_id AND k.state IN ('waiting', 'requested'))
      AND NOT EXISTS (SELECT FROM public.relay_replays r WHERE r.event_id = o.event_id)
    FOR NO KEY UPDATE SKIP LOCKED)
  UPDATE public.outbox o SET envelope = NULL, pruned_at = clock_timestamp(), pruned_why = 'retention'
  FROM taken WHERE o.event_id = taken.event_id
  RETURNING o.event_id
$$;

-- Forgets the oldest receipts that are older than asked for (seven days at least).
CREATE FUNCTION delete_old_receipts(p_older_than interval, p_limit int) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH taken AS (
    SELECT r.principal, r.idempotency_key FROM public.request_receipts r
    WHERE r.created_at < clock_timestamp() - greatest(p_older_than, interval '7 days')
    ORDER BY r.created_at LIMIT p_limit
    FOR UPDATE SKIP LOCKED),
  gone AS (
    DELETE FROM public.request_receipts r USING taken t
    WHERE r.principal = t.principal AND r.idempotency_key = t.idempotency_key
    RETURNING 1)
  SELECT count(*) FROM gone
$$;

-- Makes the intent of a revision that has none. p_content_digest: of the content that the envelope was made of.
-- outcome: created, exists (p_event_id is then the one it has), no-revision, or other-content.
CREATE FUNCTION create_intent(
  p_note_id text, p_revision int, p_content_digest text, p_event_id uuid, p_envelope bytea, p_traceparent text,
  OUT outcome text, OUT event_id uuid
) LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  canonical public.note_revisions;
BEGIN
  SELECT * INTO canonical FROM public.note_revisions r
  WHERE r.note_id = p_note_id AND r.revision = p_revision FOR KEY SHARE;
  IF NOT FOUND THEN
    outcome := 'no-revision';
    RETURN;
  END IF;
  IF canonical.content_digest IS DISTINCT FROM p_content_digest THEN
    outcome := 'other-content';
    RETURN;
  END IF;
  INSERT INTO public.outbox (note_id, revision, event_id, event_type, envelope, traceparent)
  VALUES (p_note_id, p_revision, p_event_id,
          CASE canonical.visibility WHEN 'withdrawn' THEN 'NoteWithdrawn' ELSE 'NoteRevised' END,
          p_envelope, p_traceparent)
  ON CONFLICT (note_id, revision) DO NOTHING;
  outcome := CASE WHEN FOUND THEN 'created' ELSE 'exists' END;
  SELECT o.event_id INTO event_id FROM public.outbox o WHERE o.note_id = p_note_id AND o.revision = p_revision;
END
$$;

REVOKE EXECUTE ON FUNCTION outbox_digest, outbox_only_pruned, prune_envelopes, delete_old_receipts, create_intent
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_envelopes, delete_old_receipts, create_intent TO notes_operator;
GRANT SELECT, INSERT ON replays, replay_keys, retention_runs TO notes_operator;
GRANT UPDATE (status, waits_for, changed_at, finished_at) ON replays TO notes_operator;
GRANT UPDATE (requested_at, first_offset, state, refused_why, topic, partition, "offset", seen_at) ON replay_keys
  TO notes_operator;
GRANT UPDATE (step, after_time, after_event, pruned, receipts, kept, error, changed_at, finished_at) ON retention_runs
  TO notes_operator;
GRANT SELECT ON replays, replay_keys, retention_runs TO notes_verifier;
