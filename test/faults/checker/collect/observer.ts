import pg from 'pg'
import type { Effect } from '../facts.ts'
import { SnapshotReader } from './cursor.ts'

/**
 * Triggers of the run's own that write down each row put into catalog.inbox and catalog.notes: tables keep only
 * the last state, so that an effect applied twice would not show in them. Committed and rolled back together
 * with the effect. Within one note the order of `seq` is the order of the commits: the row lock sees to it.
 */
const INSTALL = `
  CREATE SCHEMA IF NOT EXISTS fault_observer;
  CREATE TABLE IF NOT EXISTS fault_observer.effects (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "table"    text NOT NULL,
    generation int NOT NULL,
    event_id   uuid NOT NULL,
    note_id    text NOT NULL,
    revision   int NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE OR REPLACE FUNCTION fault_observer.write_down() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
  BEGIN
    INSERT INTO fault_observer.effects ("table", generation, event_id, note_id, revision)
    SELECT TG_TABLE_NAME, generation, event_id, note_id, revision FROM written;
    RETURN NULL;
  END
  $$;
  CREATE OR REPLACE TRIGGER fault_observer AFTER INSERT ON catalog.inbox
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION fault_observer.write_down();
  CREATE OR REPLACE TRIGGER fault_observer_insert AFTER INSERT ON catalog.notes
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION fault_observer.write_down();
  CREATE OR REPLACE TRIGGER fault_observer_update AFTER UPDATE ON catalog.notes
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION fault_observer.write_down();`

/**
 * Starts watching. Before the first write of a run.
 * @param adminUrl a superuser of the projection database
 */
export async function installObserver(adminUrl: string): Promise<void> {
  const client = new pg.Client(adminUrl)
  await client.connect()
  try {
    await client.query(INSTALL)
  } finally {
    await client.end()
  }
}

type Row = Omit<Effect, 'atMs'> & { readonly at_ms: number }

/** Everything that was written since, in order. */
export const collectEffects = (adminUrl: string): Promise<Effect[]> =>
  SnapshotReader.use(adminUrl, (reader) =>
    reader.map(
      `SELECT "table", generation, event_id AS "eventId", note_id AS "noteId", revision,
              floor(extract(epoch FROM at) * 1000)::float8 AS at_ms
       FROM fault_observer.effects ORDER BY seq`,
      ({ at_ms, ...row }: Row): Effect => ({ ...row, atMs: at_ms }),
    ),
  )
