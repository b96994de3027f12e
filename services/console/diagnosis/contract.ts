import { z } from 'zod'
import { NoteId, Revision } from '../../../core/note.ts'
import { CONSUMERS } from '../../../core/position.ts'
import { Publication } from '../publications/contract.ts'

/** What is recognised. Each has a section of its name in docs/runbook.md (RUNBOOK in symptoms.ts). */
export const SYMPTOMS = [
  'part-away',
  'relay-not-in-order',
  'note-without-intent',
  'intent-pending',
  'relayed-not-applied',
  'visible-twice',
  'revision-never-seen',
  'stale-public-read',
  'not-canonical',
  'pruned',
  'erased',
] as const
export const Symptom = z.enum(SYMPTOMS).meta({
  id: 'Symptom',
  description: [
    'part-away: a server that has to be asked does not answer; what only it knows is unknown.',
    'relay-not-in-order: slot, connector, topic or watcher; `cause` is the code of the alarm.',
    'note-without-intent: a canonical revision without an outbox row.',
    'intent-pending: committed longer ago than allowed, and not known to be in Kafka.',
    'relayed-not-applied: Kafka has it, the live catalog does not.',
    'visible-twice: one revision took effect twice, or nothing prevents it any more.',
    'revision-never-seen: readers were taken past a revision that no consumer has a record of.',
    'stale-public-read: the public read answers with an older text than the catalog has.',
    'not-canonical: the projection has something of a revision that the source does not have.',
    'pruned, erased: not a fault; why something can no longer be shown or replayed.',
  ].join(' '),
})
export type Symptom = z.infer<typeof Symptom>

export const OWNERS = [
  'write-path',
  'relay',
  'projector',
  'read-side',
  'operator',
  'source database',
  'projection database',
  'Kafka',
  'Kafka Connect',
  'nobody',
] as const
export const Owner = z.enum(OWNERS).meta({ description: 'Who has the next step.' })
export type Owner = z.infer<typeof Owner>

export const SOURCES = ['source', 'projection', 'kafka', 'connect', 'read-api'] as const
export type FactSource = (typeof SOURCES)[number]

const time = z.iso.datetime()

export const Fact = z
  .object({
    text: z.string(),
    source: z.enum(SOURCES).meta({ description: 'Where it was read.' }),
    readAt: time,
  })
  .meta({ id: 'DiagnosisFact' })
export type Fact = z.infer<typeof Fact>

export const Step = z
  .object({
    run: z.string().meta({ description: 'A command that can be pasted.' }),
    why: z.string().meta({ description: 'What it does or shows.' }),
  })
  .meta({ id: 'DiagnosisStep' })
export type Step = z.infer<typeof Step>

export const Finding = z
  .object({
    symptom: Symptom,
    cause: z.string().meta({ description: 'Stable code of the cause that the facts show.' }),
    severity: z.enum(['critical', 'warning', 'note']).meta({
      description:
        'critical: revisions may be missing or wrong, or soon will be. warning: they are late. note: nothing is wrong.',
    }),
    subject: z.string().nullable().meta({ description: 'What it is about, such as NOTE:REV; null: all.' }),
    summary: z.string(),
    facts: z.array(Fact).meta({ description: 'What was read.' }),
    assumptions: z.array(z.string()).meta({ description: 'What is concluded without having been read.' }),
    check: z.string().meta({ description: 'What was compared to recognise it.' }),
    owner: Owner,
    next: z.array(Step),
    runbook: z.string().meta({ description: 'Heading in docs/runbook.md.' }),
  })
  .meta({ id: 'DiagnosisFinding' })
export type Finding = z.infer<typeof Finding>

export const Verdict = z
  .object({
    status: z.enum(['in-order', 'attention', 'critical']),
    text: z.string().meta({ description: 'One line.' }),
  })
  .meta({ id: 'DiagnosisVerdict' })
export type Verdict = z.infer<typeof Verdict>

/** Something that was asked of one server, or that it could not be: then it is unknown, and not guessed. */
const part = <T extends z.ZodType>(value: T) =>
  z.discriminatedUnion('status', [
    z.object({ status: z.literal('read'), readAt: time, value }),
    z.object({ status: z.literal('unknown'), reason: z.string() }),
  ])

/** A number that was not counted further than a bound. */
export const Count = z
  .object({ count: z.int().min(0), more: z.boolean().meta({ description: 'There are more than `count`.' }) })
  .meta({ id: 'BoundedCount' })
export type Count = z.infer<typeof Count>

export const STATES = [
  'note-only',
  'intent-pending',
  'intent-relayed',
  'projection-current',
  'superseded',
] as const
const StateCount = z
  .object({ state: z.enum(STATES), count: part(Count), meaning: z.string() })
  .meta({ id: 'StateCount' })
export type StateCount = z.infer<typeof StateCount>

const KeyAndAge = z.object({
  noteId: NoteId,
  revision: Revision,
  ageSeconds: z.number().min(0),
  allowedSeconds: z.number(),
})

export const ConsumerLag = z
  .object({
    consumer: z.enum(CONSUMERS),
    generation: z.int(),
    live: z.boolean().meta({ description: 'Is it what readers see, or the one ledger?' }),
    lagRecords: z
      .int()
      .nullable()
      .meta({ description: 'Records in Kafka that it has not applied; null: unknown.' }),
    lagSeconds: z.number().nullable().meta({
      description:
        'For at least how long the oldest of them has been waiting, by the watermarks; null: no watermark says.',
    }),
    members: z
      .int()
      .nullable()
      .meta({ description: 'Processes that read for it now; null: Kafka does not say.' }),
    stopped: z.array(z.object({ partition: z.int(), reason: z.string() })),
  })
  .meta({ id: 'ConsumerLag' })
export type ConsumerLag = z.infer<typeof ConsumerLag>

const Quarantined = z.object({
  consumer: z.string(),
  reason: z.string(),
  state: z.string(),
  count: z.int(),
})

const Relay = z.object({
  verdict: z
    .string()
    .meta({ description: 'As notesctl relay status says it: running, or the code of an alarm.' }),
  text: z.string(),
  connector: z.string().nullable().meta({ description: 'State, as Kafka Connect says it; null: not known.' }),
  tasks: z.array(z.object({ id: z.int(), state: z.string(), error: z.string().nullable() })),
  slot: z
    .object({
      active: z.boolean(),
      fault: z.string().nullable(),
      confirmedFlushLsn: z.string().nullable(),
      lagBytes: z.number().nullable(),
      retainedWalBytes: z.number().nullable(),
    })
    .nullable()
    .meta({ description: 'null: not known.' }),
  relayedUntil: time.nullable().meta({ description: 'Everything committed before it is in Kafka.' }),
  lagSeconds: z.number().nullable(),
})

export const Pipeline = z
  .object({
    states: z.array(StateCount),
    oldestPending: part(KeyAndAge.nullable()).meta({
      description: 'The oldest intent that is not known to be in Kafka; null: there is none.',
    }),
    skipped: part(Count).meta({ description: 'Intents that the relay is past without a record of them.' }),
    relay: part(Relay),
    consumers: part(z.array(ConsumerLag)),
    quarantine: part(z.object({ open: z.array(Quarantined), more: z.boolean() })),
    gaps: part(
      z.object({
        revisions: Count,
        oldestSeconds: z.number().nullable(),
      }),
    ),
    publicRead: part(
      z.object({
        asOf: z.string().nullable().meta({ description: 'Projection-As-Of of its answer.' }),
        freshness: z.string().nullable(),
        ageSeconds: z.int().nullable().meta({ description: 'Header Age: set by a cache.' }),
      }),
    ),
  })
  .meta({ id: 'PipelineFacts' })
export type Pipeline = z.infer<typeof Pipeline>

export const Diagnosis = z
  .object({
    verdict: Verdict,
    askedAt: time,
    findings: z.array(Finding).meta({ description: 'Causes before what follows from them.' }),
    unknown: z.array(z.object({ part: z.string(), reason: z.string() })).meta({
      description: 'What could not be read, and why: an evidence gap, about which nothing is concluded.',
    }),
    pipeline: Pipeline,
  })
  .meta({ id: 'Diagnosis' })
export type Diagnosis = z.infer<typeof Diagnosis>

export const PublicationDiagnosis = z
  .object({
    verdict: Verdict,
    askedAt: time,
    noteId: NoteId,
    revision: Revision.nullable().meta({ description: 'null: neither database said which is the newest.' }),
    findings: z.array(Finding).meta({ description: 'Causes before what follows from them.' }),
    unknown: z.array(z.object({ part: z.string(), reason: z.string() })).meta({
      description: 'Servers that did not answer: an evidence gap, about which nothing is concluded.',
    }),
    gaps: z
      .array(z.object({ field: z.string(), gap: z.string(), explanation: z.string() }))
      .meta({ description: 'What of the chain is not known, and why; other fields are values.' }),
    publication: Publication.nullable().meta({
      description: 'The chain that it was made from; null: neither database answered.',
    }),
  })
  .meta({ id: 'PublicationDiagnosis' })
export type PublicationDiagnosis = z.infer<typeof PublicationDiagnosis>
