import { randomUUID } from 'node:crypto'
import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { ERASED_CONTENT } from '../../../core/erasures.ts'
import { rememberedSchemaId } from '../../../core/known-schemas.ts'
import { eventTypeOf, LIMITS, type NoteEvent } from '../../../core/note.ts'
import { Problem } from '../../../core/problem.ts'
import { type ActionRequest, recordFinished, recordRequested } from '../actions/record.ts'

export type ErasureRequest = {
  readonly noteId: string
  readonly principal: string
  readonly reason: string
  readonly traceparent: string
}

/** Editors go on writing: the tombstone's revision is known for sure only under the note's lock. */
const ATTEMPTS = 10

/**
 * The source's part of an erasure, in one transaction: content gone, tombstone accepted, action recorded, the rest
 * left to do. A note whose newest revision is an erasure's tombstone is left as it is; that is recorded too.
 * @throws Problem `not-found`; `action-refused` (409), and then nothing is recorded; `unavailable`
 */
export async function beginErasure(source: Pool, subject: string, request: ErasureRequest): Promise<void> {
  const schemaId = await rememberedSchemaId(source, subject)
  if (schemaId === undefined)
    throw new Problem(
      'action-refused',
      'No write API has ever learned the id of the event schema here, so the tombstone cannot be encoded. Start a write API and the schema registry once (bin/up), then ask again.',
    )
  const encoder = new EnvelopeEncoder(schemaId)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const newest = await newestRevision(source, request.noteId)
    if (newest === undefined) throw new Problem('not-found', `The source has no note ${request.noteId}.`)
    if (newest >= LIMITS.maxRevision)
      throw new Problem(
        'action-refused',
        `Note ${request.noteId} has the last revision there can be: no tombstone fits.`,
      )
    const event = tombstoneOf(request.noteId, newest + 1)
    const envelope = await encoder.encode(event)
    if ((await erase(source, request, event, envelope)) !== 'moved') return
  }
  throw new Problem(
    'unavailable',
    `Note ${request.noteId} is being written all the time; nothing was done. Ask again.`,
    {
      headers: { 'Retry-After': '1' },
    },
  )
}

async function newestRevision(source: Pool, noteId: string): Promise<number | undefined> {
  const { rows } = await source.query<{ newest: number }>(
    `SELECT greatest(n.revision, (SELECT max(r.revision) FROM note_revisions r WHERE r.note_id = n.note_id)) AS newest
     FROM notes n WHERE n.note_id = $1`,
    [noteId],
  )
  return rows[0]?.newest
}

const tombstoneOf = (noteId: string, revision: number): NoteEvent => ({
  eventId: randomUUID(),
  eventType: eventTypeOf(ERASED_CONTENT.visibility),
  noteId,
  revision,
  ...ERASED_CONTENT,
  occurredAt: Date.now(),
})

type Outcome = 'erased' | 'already' | 'moved' | 'no-note'

/** Rolls back what is not wanted after all. */
class NotErased extends Error {
  override name = 'NotErased'
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super(outcome)
    this.outcome = outcome
  }
}

async function erase(
  source: Pool,
  request: ErasureRequest,
  event: NoteEvent,
  envelope: Buffer,
): Promise<Outcome> {
  const { noteId, principal, reason } = request
  const action: ActionRequest = { action: 'notes.erase', target: noteId, principal, reason }
  try {
    await inTransaction(source, async (client) => {
      const actionId = await recordRequested(client, action)
      const before = await unfinishedBefore(client, noteId)
      const outcome = await eraseAtSource(client, actionId, request, event, envelope)
      if (outcome !== 'erased') throw new NotErased(outcome)
      if (before)
        await recordFinished(client, before, { status: 'no-effect', result: { replacedBy: actionId } })
    })
    return 'erased'
  } catch (error) {
    if (!(error instanceof NotErased)) throw error
    if (error.outcome === 'already') await recordNoEffect(source, action)
    if (error.outcome === 'no-note') throw new Problem('not-found', `The source has no note ${noteId}.`)
    return error.outcome
  }
}

async function unfinishedBefore(client: PoolClient, noteId: string): Promise<string | undefined> {
  const { rows } = await client.query(
    'SELECT action_id FROM erasures WHERE note_id = $1 AND finished_at IS NULL',
    [noteId],
  )
  return rows[0]?.action_id
}

async function eraseAtSource(
  client: PoolClient,
  actionId: string,
  { noteId, principal, traceparent }: ErasureRequest,
  { eventId, revision, occurredAt }: NoteEvent,
  envelope: Buffer,
): Promise<Outcome> {
  const answer = {
    eventId,
    noteId,
    revision,
    status: 'accepted',
    delivery: `/events/${eventId}`,
    publication: `/publications/${noteId}/${revision}`,
  }
  const { rows } = await client.query<{ outcome: Outcome }>(
    'SELECT outcome FROM erase_note($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    [
      actionId,
      principal,
      noteId,
      revision,
      new Date(occurredAt),
      eventId,
      envelope,
      traceparent,
      JSON.stringify(answer),
    ],
  )
  if (!rows[0]) throw new Error('erase_note answered nothing')
  return rows[0].outcome
}

const recordNoEffect = (source: Pool, action: ActionRequest): Promise<void> =>
  inTransaction(source, async (client) => {
    const id = await recordRequested(client, action)
    const explanation = 'It was erased before, and nothing was saved since.'
    await recordFinished(client, id, { status: 'no-effect', result: { explanation } })
  })
