-- Every replication slot the relay ever had. A slot that is dropped and made anew starts at a later
-- WAL position and says nothing about what was committed before it: evidence "the slot has passed it"
-- counts only within the incarnation that existed at the commit.
--
-- identity_lsn is pg_replication_slots.two_phase_at. The slot is created with two_phase = true, which
-- stamps the position of its creation into it for good; prepared transactions stay disabled, so it has
-- no other effect. A slot made anew by hand or by a tool carries another stamp or none.
CREATE TABLE relay_slots (
  incarnation   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slot_name     text NOT NULL,
  identity_lsn  pg_lsn NOT NULL,
  start_lsn     pg_lsn NOT NULL,
  reason        text NOT NULL,
  recorded_at   timestamptz NOT NULL DEFAULT now(),
  -- What the watcher has seen confirmed while this very slot was active: every transaction visible in
  -- this snapshot had its commit at or before a WAL position that the slot has confirmed since.
  confirmed_snapshot pg_snapshot,
  confirmed_lsn      pg_lsn,
  confirmed_at       timestamptz,
  UNIQUE (slot_name, identity_lsn)
);

CREATE FUNCTION current_relay_incarnation() RETURNS int LANGUAGE sql STABLE AS $$
  SELECT max(incarnation) FROM relay_slots
$$;
