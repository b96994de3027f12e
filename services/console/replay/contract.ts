import { z } from 'zod'
import { NoteId, Revision } from '../../../core/note.ts'
import { wholeNumber } from '../../../core/whole-number.ts'
import { ActionBody } from '../action-request.ts'

/** Most revisions that one replay takes; more are several replays. */
export const MAX_KEYS = 50_000
/** Ranges that one request names. */
const MAX_RANGES = 100
const SHOWN_KEYS = 100

/** Why a revision cannot be replayed. */
export const REFUSALS = {
  'no-revision': 'The source has no such revision.',
  'note-only':
    'The revision has no intent, so there is nothing to send again. Whether it is to be published is a decision of its own: bin/notesctl intent create.',
  pruned:
    'Its envelope was pruned by the retention contract, after every consumer had applied it. The row, the event id and the digest are kept.',
  erased: 'Its content was erased. Nothing brings it back.',
} as const
export type Refusal = keyof typeof REFUSALS
const RefusalName = z.enum(Object.keys(REFUSALS) as [Refusal, ...Refusal[]])

const RevisionRange = z
  .strictObject({
    noteId: NoteId,
    firstRevision: Revision,
    lastRevision: Revision.optional().meta({ description: 'Without it: only firstRevision.', example: 3 }),
  })
  .refine(({ firstRevision, lastRevision = firstRevision }) => lastRevision >= firstRevision, {
    path: ['lastRevision'],
    message: 'must not be before firstRevision',
  })
export type RevisionRange = z.infer<typeof RevisionRange>

const selection = {
  revisions: z
    .array(RevisionRange)
    .max(MAX_RANGES, `must name at most ${MAX_RANGES} ranges`)
    .default([])
    .meta({ description: `Revisions of notes, at most ${MAX_RANGES} ranges.` }),
  fromAuditGap: z.boolean().default(false).meta({
    description:
      'Every intent that no record was seen of although audit has read far enough, and every intent in an open gap of the live catalog.',
  }),
}
const isSomething = (body: { readonly revisions: readonly unknown[]; readonly fromAuditGap: boolean }) =>
  body.revisions.length > 0 || body.fromAuditGap
const nothing = { path: ['revisions'], message: 'names nothing, and fromAuditGap is false' }

export const PlanBody = z.strictObject(selection).refine(isSomething, nothing)
export const ReplayBody = ActionBody.extend({
  ...selection,
  keysPerSecond: z
    .int()
    .min(1)
    .max(1_000)
    .default(50)
    .meta({ description: 'At most so many revisions a second, on average.' }),
}).refine(isSomething, nothing)
export type PlanBody = z.infer<typeof PlanBody>
export type ReplayBody = z.infer<typeof ReplayBody>
export type Selection = PlanBody

const Refused = z.object({
  noteId: z.string(),
  revision: z.int(),
  why: RefusalName,
  explanation: z.string(),
})
export type Refused = z.infer<typeof Refused>

const refusedSummary = z.object({
  count: z.int(),
  keys: z.array(Refused).meta({ description: `The first of them, at most ${SHOWN_KEYS}.` }),
})
export const summaryOf = (refused: readonly Refused[]): z.infer<typeof refusedSummary> => ({
  count: refused.length,
  keys: refused.slice(0, SHOWN_KEYS),
})

const Key = z.object({ noteId: z.string(), revision: z.int(), eventId: z.uuid() })

export const ReplayPlan = z
  .object({
    count: z.int().meta({ description: 'Revisions that would be sent again.' }),
    keys: z
      .array(Key)
      .meta({ description: `The first of them in the order of sending, at most ${SHOWN_KEYS}.` }),
    refused: refusedSummary.meta({ description: 'Revisions that cannot be replayed, and why.' }),
    relay: z.object({
      ready: z.boolean(),
      why: z.string().nullable().meta({ description: 'Stable name of what is in the way; null: nothing.' }),
      explanation: z.string(),
    }),
    auditHasRead: z.boolean().nullable().meta({
      description:
        'Only asked with fromAuditGap: has audit read the topic to its end? If not, what is missing is not known yet. null: Kafka does not answer, or it was not asked.',
    }),
  })
  .meta({ id: 'ReplayPlan' })
export type ReplayPlan = z.infer<typeof ReplayPlan>

export const ReplayParams = z.object({ replayId: z.uuid() })
export const KeysQuery = z.strictObject({
  after: wholeNumber(0, 1_000_000)
    .default(0)
    .meta({ description: 'Position of the last key before the page.' }),
  limit: wholeNumber(1, 500).default(SHOWN_KEYS).meta({ description: 'Keys a page.' }),
})
export type KeysQuery = z.infer<typeof KeysQuery>

/** What a consumer did with the record of a replay. */
export const RESULTS = [
  'applied',
  'duplicate',
  'stale',
  'conflict',
  'held',
  'quarantined',
  'not-seen',
  'unknown',
] as const
export type Result = (typeof RESULTS)[number]

const ConsumerResult = z.object({
  consumer: z.enum(['catalog', 'audit']),
  generation: z.int(),
  live: z.boolean().meta({ description: 'Do readers see this generation? Always true for audit.' }),
  result: z.enum(RESULTS).meta({
    description:
      'duplicate: its effect was there before. applied: it took effect now. not-seen: not read yet. unknown: the projection did not answer.',
  }),
  explanation: z.string(),
})
export type ConsumerResult = z.infer<typeof ConsumerResult>

const ReplayedKey = Key.extend({
  position: z.int(),
  state: z.enum(['waiting', 'requested', 'seen', 'refused']).meta({
    description:
      'waiting: not sent for yet. requested: the relay was asked. seen: a new record is in the topic. refused: it could not be replayed any more when its turn came.',
  }),
  refusedWhy: z.string().nullable(),
  requestedAt: z.iso.datetime().nullable(),
  record: z
    .object({ topic: z.string(), partition: z.int(), offset: z.string(), seenAt: z.iso.datetime() })
    .nullable()
    .meta({ description: 'The new record, as audit saw it; null: none was seen yet.' }),
  consumers: z.array(ConsumerResult).meta({ description: 'What each consumer did with that record.' }),
})
export type ReplayedKey = z.infer<typeof ReplayedKey>

export const Replay = z
  .object({
    id: z.uuid().meta({ description: 'Also the id of the recorded action.' }),
    status: z.enum(['running', 'finished', 'cancelled']),
    waitsFor: z
      .string()
      .nullable()
      .meta({ description: 'Why nothing moves at present. It is tried again without being asked.' }),
    keysPerSecond: z.int(),
    counts: z.object({ waiting: z.int(), requested: z.int(), seen: z.int(), refused: z.int() }),
    notReplayable: refusedSummary.meta({ description: 'What was asked for and refused when it began.' }),
    startedAt: z.iso.datetime(),
    changedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    keys: z.array(ReplayedKey),
    nextAfter: z.int().nullable().meta({ description: '`after` of the next page of keys; null: no more.' }),
  })
  .meta({ id: 'Replay' })
export type Replay = z.infer<typeof Replay>
