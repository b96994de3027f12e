import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { EnvelopeEncoder } from '../../core/envelope-encoder.ts'
import { SHIPPED_SCHEMA } from '../../core/event-schema.ts'
import { RegistryClient } from '../../core/registry.ts'
import type { Lab } from './lab.ts'

/** An encoder with the id under which the lab's registry holds the shipped schema. */
export async function labEncoder(lab: Lab): Promise<EnvelopeEncoder> {
  const found = await new RegistryClient(lab.addresses.registryUrl).idOf(
    'notes.revisions-value',
    SHIPPED_SCHEMA,
  )
  if (!found.found) throw new Error('the lab has not registered the event schema')
  return new EnvelopeEncoder(found.value)
}

/**
 * Inserts revision 1 of a note with its outbox row, as the write API's function would, in the client's
 * own transaction. For what the API cannot do: many notes in one commit, or a database of the test's own.
 * @returns the event id.
 */
export async function insertNote(
  client: pg.Client,
  encoder: EnvelopeEncoder,
  noteId: string,
): Promise<string> {
  const event = {
    eventId: randomUUID(),
    eventType: 'NoteRevised',
    noteId,
    revision: 1,
    title: 'A title',
    url: null,
    type: 'article',
    body: `Body of ${noteId}`,
    visibility: 'public',
    occurredAt: Date.now(),
  } as const
  await client.query('INSERT INTO notes (note_id, revision) VALUES ($1, 1)', [noteId])
  await client.query(
    `INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
     VALUES ($1, 1, $2, NULL, $3, $4, $5, $6)`,
    [noteId, event.title, event.type, event.body, event.visibility, new Date(event.occurredAt)],
  )
  await client.query(
    `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
     VALUES ($1, 1, $2, $3, $4, $5)`,
    [
      noteId,
      event.eventId,
      event.eventType,
      await encoder.encode(event),
      `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    ],
  )
  return event.eventId
}
