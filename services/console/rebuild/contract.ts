import { z } from 'zod'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'
import { CONSUMERS } from '../../../core/position.ts'
import { ActionBody } from '../action-request.ts'
import { DIFFERENCES, EXPLANATIONS } from './judge.ts'
import { parseStart, START_CHARS, START_PATTERN, type Start } from './start.ts'

const Consumer = z.enum(CONSUMERS)

/** A start as text, parsed. */
const StartText = z
  .string()
  .max(START_CHARS)
  .transform((text, context): Start => {
    const start = parseStart(text)
    if (start) return start
    context.issues.push({
      code: 'custom',
      input: text,
      message: 'must be beginning, source, offset:P=O,… (each partition once) or time:2026-01-31T12:00:00Z',
    })
    return z.NEVER
  })
  .meta({
    description:
      'beginning: the first records that Kafka still has. offset:P=O,…: those records; a partition that is not named begins at its first. time:T: the first records at or after T. source: the canonical revisions of the source, then what comes after them.',
    example: 'beginning',
    override: ({ jsonSchema }) => void Object.assign(jsonSchema, { pattern: START_PATTERN }),
  })

export const STATUSES = {
  seeding: 'it is being filled from the source; no record is applied to it yet',
  'catching-up': 'records are applied to it, from its start on',
  ready: 'it has applied what the topic held a moment ago',
  switched: 'it is live; the generation of before is still fed',
  'rolled-back': 'the generation of before is live again; this one is still fed',
  dropping: 'the generation that is not live is being deleted',
  dropped: 'it is over: the generation that was not live is gone',
  failed: 'it cannot go on, `problem` says why; drop it',
} as const
export type Status = keyof typeof STATUSES
const StatusName = z.enum(Object.keys(STATUSES) as [Status, ...Status[]])

const Offset = z.int().min(0)

export const Rebuild = z
  .object({
    id: z.uuid().meta({ description: 'Also the id of the recorded action.' }),
    consumer: Consumer,
    generation: z.int().meta({ description: 'The one that it builds.' }),
    beside: z.int().meta({ description: 'The one that was live when it began.' }),
    liveGeneration: z
      .int()
      .nullable()
      .meta({ description: 'What readers see now. null: of audit, which has one ledger.' }),
    from: z.string(),
    status: StatusName.meta({
      description: Object.entries(STATUSES)
        .map(([name, meaning]) => `${name}: ${meaning}.`)
        .join(' '),
    }),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'Why it does not go on now, or never again; for a person.' }),
    notes: z.array(z.string()).meta({ description: 'What its start cannot contain.' }),
    seeding: z
      .object({
        done: z.int(),
        of: z.int().nullable().meta({ description: 'Notes that the source had when seeding began.' }),
      })
      .nullable()
      .meta({ description: 'Notes taken from the source; null: it does not begin there.' }),
    partitions: z.array(
      z.object({
        partition: z.int(),
        start: Offset,
        nextOffset: Offset.nullable().meta({ description: 'Everything from start to below it is applied.' }),
        endOffset: Offset.nullable().meta({ description: 'null: Kafka does not answer.' }),
      }),
    ),
    remaining: z.int().min(0).nullable().meta({
      description: 'Notes to seed, then records to apply. null: not known now.',
    }),
    perSecond: z
      .number()
      .nullable()
      .meta({ description: 'Notes or records a second, lately. null: not known yet.' }),
    etaSeconds: z.int().nullable().meta({ description: 'Until it has caught up, at that pace.' }),
    createdAt: z.iso.datetime(),
    changedAt: z.iso.datetime(),
    principal: z.string(),
    reason: z.string(),
  })
  .meta({ id: 'Rebuild', description: 'A second generation of a consumer, built beside the live one.' })
export type Rebuild = z.infer<typeof Rebuild>

export const RebuildsQuery = z.strictObject({
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,17}$/), z.uuid()])).optional(),
  limit: limitParameter(20, 100),
})
export const RebuildPage = z
  .object({ rebuilds: z.array(Rebuild), next: z.string().nullable().meta({ description: 'The next page.' }) })
  .meta({ id: 'RebuildPage' })

export const PlanQuery = z.strictObject({ consumer: Consumer, from: StartText })
export const RebuildBody = ActionBody.extend({ consumer: Consumer, from: StartText })
export const RebuildParams = z.object({ rebuildId: z.uuid() })

export const RebuildPlan = z
  .object({
    consumer: Consumer,
    from: z.string(),
    partitions: z.array(
      z.object({
        partition: z.int(),
        start: Offset.meta({ description: 'The first record that would be read.' }),
        earliest: Offset.meta({ description: 'The first record that Kafka still has.' }),
        end: Offset.meta({ description: 'What the next record will get.' }),
        toRead: z.int().min(0),
      }),
    ),
    toRead: z.int().min(0).meta({ description: 'Records up to now.' }),
    toSeed: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'Notes of the source; null: it does not begin there.' }),
    cannotContain: z.array(z.string()),
    lacking: z
      .object({
        count: z.int(),
        complete: z.boolean().meta({ description: 'false: there are more.' }),
        keys: z.array(z.object({ noteId: z.string(), revision: z.int() })),
      })
      .nullable()
      .meta({
        description: 'Newest revisions that no record from the start on brings. null: not looked at.',
      }),
    refused: z
      .string()
      .nullable()
      .meta({ description: 'Why it is not done; null: it is done when asked for.' }),
  })
  .meta({ id: 'RebuildPlan' })
export type RebuildPlan = z.infer<typeof RebuildPlan>

const counts = <Name extends string>(names: readonly Name[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, z.int()])) as Record<Name, z.ZodInt>)

export const Switched = z
  .object({
    actionId: z.uuid(),
    from: z.int().meta({ description: 'The generation that was live before.' }),
    to: z.int().meta({ description: 'The one that readers see now.' }),
    comparedNotes: z.int(),
    explained: counts(Object.keys(EXPLANATIONS) as (keyof typeof EXPLANATIONS)[]).meta({
      description: Object.entries(EXPLANATIONS)
        .map(([name, meaning]) => `${name}: ${meaning}.`)
        .join(' '),
    }),
    heldMs: z.number().meta({ description: 'How long nothing could be applied.' }),
    attempts: z.int().meta({ description: 'Comparisons that were begun.' }),
    rebuild: Rebuild,
  })
  .meta({ id: 'SwitchedGeneration' })
export type Switched = z.infer<typeof Switched>

/** What a refusal lists of the notes that differ. */
export const SHOWN_DIFFERENCES = 50
export const NoteDifference = z.object({
  noteId: z.string(),
  kind: z.enum(Object.keys(DIFFERENCES) as [keyof typeof DIFFERENCES, ...(keyof typeof DIFFERENCES)[]]),
  candidateRevision: z.int().nullable(),
  liveRevision: z.int().nullable(),
  sourceRevision: z.int().nullable(),
})
export type NoteDifference = z.infer<typeof NoteDifference>
