-- How far each consumer's effects reach, committed together with them. Kafka's committed offset follows.
-- incarnation counts the topic's lives: it goes up when the record before next_offset is found to be
-- another one than was applied (a recreated topic), because Kafka's client names no topic id.
CREATE FUNCTION public.progress_never_decreases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'progress of %-% is at offset %, refusing %', old.topic, old.partition, old.next_offset, new.next_offset
    USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'progress_never_decreases';
END
$$;

CREATE TABLE catalog.progress (
  generation       int NOT NULL REFERENCES catalog.generations,
  topic            text NOT NULL,
  partition        int NOT NULL,
  incarnation      int NOT NULL DEFAULT 1,
  next_offset      bigint NOT NULL CHECK (next_offset >= 0),
  last_event_id    uuid,
  last_broker_time timestamptz,
  cluster_id       text NOT NULL,
  updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (generation, topic, partition)
);
CREATE TABLE audit.progress (
  generation       int NOT NULL DEFAULT 1 CHECK (generation = 1),
  topic            text NOT NULL,
  partition        int NOT NULL,
  incarnation      int NOT NULL DEFAULT 1,
  next_offset      bigint NOT NULL CHECK (next_offset >= 0),
  last_event_id    uuid,
  last_broker_time timestamptz,
  cluster_id       text NOT NULL,
  updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (generation, topic, partition)
);
CREATE TRIGGER progress_never_decreases BEFORE UPDATE ON catalog.progress
  FOR EACH ROW WHEN (new.incarnation = old.incarnation AND new.next_offset < old.next_offset)
  EXECUTE FUNCTION public.progress_never_decreases();
CREATE TRIGGER progress_never_decreases BEFORE UPDATE ON audit.progress
  FOR EACH ROW WHEN (new.incarnation = old.incarnation AND new.next_offset < old.next_offset)
  EXECUTE FUNCTION public.progress_never_decreases();
