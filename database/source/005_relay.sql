-- Debezium's heartbeat.action.query INSERTs here (publish = 'insert': an UPDATE would not be relayed
-- and the slot would stand still while other tables write WAL).
CREATE TABLE relay_heartbeat (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  -- Tells whether a slot that confirmed a snapshot has passed this beat.
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);

-- Debezium's signal channel, used for replays by incremental snapshot.
CREATE TABLE debezium_signal (
  id   varchar(42) PRIMARY KEY,
  type varchar(32) NOT NULL,
  data varchar(2048)
);

-- Only inserts: pruning an envelope or trimming the heartbeat must never reach Kafka. Exists before the
-- slot does; a publication made later would be unknown at the slot's first positions.
CREATE PUBLICATION notes_outbox FOR TABLE outbox, debezium_signal, relay_heartbeat WITH (publish = 'insert');
