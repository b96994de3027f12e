import pg from 'pg'
import { afterAll } from 'vitest'

/** An owner's connection for looking at, and getting in the way of, what the write API writes. Closed after the file. */
export async function connectOwner(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // A test may stop the server under it.
  client.on('error', () => undefined)
  await client.connect()
  afterAll(() => client.end().catch(() => undefined))
  return client
}

/** How many rows of each kind one note has. */
export async function countsOf(client: pg.Client, noteId: string) {
  const { rows } = await client.query(
    `SELECT (SELECT revision FROM notes WHERE note_id = $1) AS current,
            (SELECT count(*)::int FROM note_revisions WHERE note_id = $1) AS revisions,
            (SELECT count(*)::int FROM outbox WHERE note_id = $1) AS intents,
            (SELECT count(*)::int FROM request_receipts WHERE note_id = $1) AS receipts`,
    [noteId],
  )
  return rows[0] as { current: number | null; revisions: number; intents: number; receipts: number }
}
