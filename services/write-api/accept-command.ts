import { z } from 'zod'
import type { Pool } from '../../core/database.ts'
import type { EventType, SaveNoteCommand } from '../../core/note.ts'
import { Accepted } from './answers.ts'

/** What the database decided about a command; see database/source/004_accept_command.sql. */
export type Decision =
  | { readonly outcome: 'accepted' | 'replayed'; readonly eventId: string; readonly answer: Accepted }
  | { readonly outcome: 'key-reused'; readonly eventId: string }
  | {
      readonly outcome: 'revision-conflict'
      /** 0 when the note does not exist. */
      readonly currentRevision: number
      /** Present when the revision named by the command exists. */
      readonly existing?: {
        readonly eventId: string | null
        /** null: its content was erased, so nobody can tell any more. */
        readonly sameContent: boolean | null
      }
    }

export type Submission = {
  readonly principal: string
  readonly idempotencyKey: string
  readonly fingerprint: Buffer
  readonly command: SaveNoteCommand
  readonly occurredAt: Date
  readonly eventId: string
  readonly eventType: EventType
  readonly envelope: Buffer
  readonly traceparent: string
  readonly answer: Accepted
}

const Row = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.enum(['accepted', 'replayed']), event_id: z.string(), answer: Accepted }),
  z.object({ outcome: z.literal('key-reused'), event_id: z.string() }),
  z.object({
    outcome: z.literal('revision-conflict'),
    event_id: z.string().nullable(),
    current_revision: z.int(),
    same_content: z.boolean().nullable(),
  }),
])

/**
 * The whole decision in one round trip: one statement is one transaction, so receipt, note, canonical
 * revision and outbox row are committed together or not at all. Prepared once per connection.
 * @throws what the driver throws; the commit is then unknown, and a repeat with the same key tells.
 */
export async function acceptCommand(pool: Pool, submission: Submission): Promise<Decision> {
  const { command } = submission
  const { rows } = await pool.query({
    name: 'accept-command',
    text: 'SELECT * FROM accept_command($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)',
    values: [
      submission.principal,
      submission.idempotencyKey,
      submission.fingerprint,
      command.noteId,
      command.revision,
      command.title,
      command.url,
      command.type,
      command.body,
      command.visibility,
      submission.occurredAt,
      submission.eventId,
      submission.eventType,
      submission.envelope,
      submission.traceparent,
      JSON.stringify(submission.answer),
    ],
  })
  const row = Row.parse(rows[0])
  switch (row.outcome) {
    case 'accepted':
    case 'replayed':
      return { outcome: row.outcome, eventId: row.event_id, answer: row.answer }
    case 'key-reused':
      return { outcome: 'key-reused', eventId: row.event_id }
    case 'revision-conflict':
      return {
        outcome: 'revision-conflict',
        currentRevision: row.current_revision,
        ...((row.same_content !== null || row.event_id !== null) && {
          existing: { eventId: row.event_id, sameContent: row.same_content },
        }),
      }
  }
}
