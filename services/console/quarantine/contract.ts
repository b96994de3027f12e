import { z } from 'zod'
import { NoteId } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'
import { QUARANTINE_REASONS } from '../../../core/quarantine-reasons.ts'
import { wholeNumber } from '../../../core/whole-number.ts'

export const STATES = ['open', 'redriving', 'held', 'applied', 'no-effect', 'discarded'] as const
export const State = z.enum(STATES).meta({
  id: 'QuarantineState',
  description: [
    'open: refused, waits for a person.',
    'redriving: another attempt was asked for and is not made yet.',
    'held: not tried, because an earlier revision of its note is open; tried by itself afterwards.',
    'applied: an attempt took effect.',
    'no-effect: an attempt found that the event had taken effect before.',
    'discarded: not wanted; kept for ever.',
  ].join(' '),
})
export type State = z.infer<typeof State>

/** In the list, a held record has this instead of a reason of its own. */
const REASONS = [...QUARANTINE_REASONS, 'held'] as const

const MAX_PAGE = 200

export const QuarantineQuery = z.strictObject({
  consumer: z.enum(['catalog', 'audit']).optional(),
  generation: wholeNumber(1, 2_147_483_647)
    .optional()
    .meta({ description: 'Each generation that is fed has a quarantine of its own.', example: 1 }),
  noteId: NoteId.optional(),
  reason: z
    .enum(REASONS, { error: `must be one of ${REASONS.join(', ')}` })
    .optional()
    .meta({ example: 'conflict' }),
  state: z
    .enum([...STATES, 'unresolved', 'any'])
    .default('unresolved')
    .meta({ description: 'unresolved: open, redriving and held.' }),
  after: cursorParameter(z.tuple([z.string().regex(/^[1-9]\d{0,17}$/)])).optional(),
  limit: limitParameter(50, MAX_PAGE),
})
export type QuarantineQuery = z.infer<typeof QuarantineQuery>

const QuarantineId = z
  .string()
  .regex(/^[1-9][0-9]{0,17}$/, 'must be the number of a record in quarantine')
  .meta({ description: 'The number of a record in quarantine.', example: '7' })
export const QuarantineParams = z.object({ quarantineId: QuarantineId })

const number = z.int().min(0)
const time = z.iso.datetime()

export const Entry = z
  .object({
    id: z.string(),
    consumer: z.string(),
    generation: number,
    state: State,
    reason: z.string().meta({ description: 'Stable code of why it cannot be applied; held for a held one.' }),
    explanation: z.string(),
    noteId: z
      .string()
      .nullable()
      .meta({ description: 'From the event when it could be decoded, else its key.' }),
    revision: number.nullable(),
    eventId: z.string().nullable(),
    topic: z.string(),
    incarnation: number,
    partition: number,
    offset: z.string().meta({ description: 'Digits.' }),
    attempts: number.meta({ description: 'How often it was tried; 0 for one that is held.' }),
    firstAt: time,
    lastAt: time,
    valueBytes: number.nullable(),
    heldBy: z
      .string()
      .nullable()
      .meta({ description: 'Of a held one: the record in quarantine that keeps it back.' }),
    resolvedAt: time.nullable(),
    resolution: z.string().nullable().meta({ description: 'What the last attempt or decision came to.' }),
    actionId: z
      .string()
      .nullable()
      .meta({ description: 'The last redrive or discard: GET /actions/{actionId}.' }),
  })
  .meta({ id: 'QuarantinedRecord' })
export type Entry = z.infer<typeof Entry>

export const EntryPage = z
  .object({ records: z.array(Entry), next: z.string().nullable() })
  .meta({ id: 'QuarantinePage' })
export type EntryPage = z.infer<typeof EntryPage>

const base64 = z
  .string()
  .nullable()
  .meta({ description: 'Its exact bytes, in base64; null when there are none.' })
export const WholeRecord = Entry.extend({
  brokerTime: time,
  key: base64,
  value: base64,
  headers: z
    .array(z.tuple([z.string(), z.string().nullable()]))
    .meta({ description: 'Name and value in base64, in the order of the record.' }),
  holds: number.meta({ description: 'Records of its note that are held until it is settled.' }),
}).meta({ id: 'WholeQuarantinedRecord' })
export type WholeRecord = z.infer<typeof WholeRecord>

export const Decided = z
  .object({
    actionId: z.uuid(),
    quarantineId: z.string(),
    state: State.meta({ description: 'Of the record, now.' }),
    status: z.enum(['requested', 'done', 'no-effect']).meta({ description: 'Of the action.' }),
    explanation: z.string(),
  })
  .meta({ id: 'QuarantineDecision' })
export type Decided = z.infer<typeof Decided>
