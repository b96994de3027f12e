import { z } from 'zod'
import { LIMITS, NoteId, Revision } from '../../../core/note.ts'
import { wholeNumber } from '../../../core/whole-number.ts'
import { Incident } from '../incidents/contract.ts'
import {
  BECAUSE,
  EVIDENCE_SOURCES,
  type EvidenceSource,
  GAPS,
  type GapName,
  keysOf,
  meanings,
  OWNERS,
  RESULTS,
  STATES,
} from './vocabulary.ts'

const time = z.iso.datetime()
const count = z.int().min(0)
const digits = z.string().regex(/^[0-9]{1,19}$/)

/** A value with where and when it was read, or why there is none. */
export type Found<T> = { readonly value: T; readonly source: EvidenceSource; readonly readAt: string }
export type Gap = { readonly gap: GapName; readonly explanation: string }
export type Evidence<T> = Found<T> | Gap

export const isFound = <T>(evidence: Evidence<T>): evidence is Found<T> => 'value' in evidence

const evidence = <T extends z.ZodType>(value: T) =>
  z.union([
    z.object({
      value,
      source: z.enum(EVIDENCE_SOURCES),
      readAt: time.meta({ description: 'When it was read; of what the watcher saw: when that saw it.' }),
    }),
    z.object({
      gap: z.enum(keysOf(GAPS)).meta({ description: meanings(GAPS) }),
      explanation: z.string(),
    }),
  ])

/** What wrote a row, by the row's own default values. */
const Provenance = z.object({
  transactionId: digits,
  sessionUser: z.string(),
  applicationName: z.string(),
})

const WritePath = z.object({
  revision: Provenance,
  intent: Provenance.nullable(),
  receipt: Provenance.nullable(),
  oneTransaction: z.boolean().meta({
    description: 'Revision, intent and receipt have one transaction id: one commit, as by the write API.',
  }),
  explanation: z.string(),
})

const RecordSeen = z.object({
  topic: z.string(),
  incarnation: z.int().meta({ description: 'Which life of a topic of that name.' }),
  partition: count,
  offset: digits,
  brokerTime: time,
  delivery: z.enum(['first', 'replay', 'unknown']).meta({
    description: 'first: from the write-ahead log; also when it came twice. replay: from a snapshot.',
  }),
  eventId: z.uuid().nullable(),
  seenAt: time.meta({ description: 'By the audit consumer.' }),
})

const RecordsSeen = z.object({
  count: count.meta({ description: 'Records of this event.' }),
  others: count.meta({ description: 'Records that name the revision and are not of this event.' }),
  shown: z.array(RecordSeen).meta({ description: 'The oldest of them.' }),
})

const QuarantineNote = z.object({
  quarantineId: z.string(),
  state: z.string(),
  reason: z.string(),
  explanation: z.string(),
  firstAt: time,
})

export const ConsumerOutcome = z.object({
  consumer: z.enum(['catalog', 'audit']),
  generation: count.nullable().meta({ description: 'null: not known.' }),
  isLive: z.boolean().meta({ description: 'Readers see this generation. audit has one that counts.' }),
  result: z.enum(keysOf(RESULTS)).meta({ description: meanings(RESULTS) }),
  at: evidence(time).meta({ description: 'When this consumer did it, by the projection database.' }),
  repeats: count.nullable().meta({
    description: 'Later records of the same event, which had no effect; null: not known.',
  }),
  explanation: z.string(),
  quarantine: z.array(QuarantineNote),
})
export type ConsumerOutcome = z.infer<typeof ConsumerOutcome>

const CatalogRevision = z.object({
  generation: count,
  revision: Revision.nullable().meta({ description: 'null: the live catalog does not have the note.' }),
  eventId: z.uuid().nullable(),
  visibility: z.string().nullable(),
  appliedAt: time.nullable(),
})

const freshness = {
  projectionAsOf: z.string().nullable(),
  projectionFreshness: z.string().nullable(),
  ageSeconds: z
    .number()
    .nullable()
    .meta({ description: 'Header Age: a cache answered, with something that old.' }),
  cacheControl: z.string().nullable(),
  headers: z
    .record(z.string(), z.string())
    .meta({ description: 'What else says who answered: Date, Via, X-Cache, Cache-Status.' }),
}

export const PublicNoteAnswer = z.object({
  url: z.string(),
  status: z.int(),
  answer: z.enum(['shown', 'withdrawn', 'absent']),
  revision: Revision.nullable(),
  etag: z.string().nullable(),
  ...freshness,
})
export type PublicNoteAnswer = z.infer<typeof PublicNoteAnswer>

export const PublicListAnswer = z.object({
  url: z.string(),
  status: z.int(),
  answer: z
    .enum(['listed', 'absent'])
    .meta({ description: 'Is the note at its place in the list, which is given by its time and id?' }),
  revision: Revision.nullable(),
  etag: z.string().nullable().meta({ description: "Of the page; an item's own is that of the single note." }),
  itemEtag: z.string().nullable(),
  ...freshness,
})
export type PublicListAnswer = z.infer<typeof PublicListAnswer>

const Relay = z.object({
  evidence: evidence(
    z.object({
      confirmed: z.boolean(),
      kind: z.enum(['recorded', 'record', 'none']).meta({
        description:
          'recorded: the watcher saw the slot of the commit pass it. record: a consumer saw a record of it.',
      }),
      explanation: z.string(),
    }),
  ),
  slot: evidence(
    z.object({
      incarnationAtCommit: z.int().nullable(),
      currentIncarnation: z.int().nullable(),
      confirmedLsn: z.string().nullable(),
      confirmedAt: time.nullable().meta({ description: 'When the watcher last saw it move on.' }),
    }),
  ),
  incidents: evidence(
    z.array(
      Incident.extend({
        duringRelay: z.boolean().nullable().meta({
          description: 'It held between the commit and the first record; null: there is no record.',
        }),
      }),
    ),
  ).meta({
    description: 'What was not in order since the commit, as the watcher wrote it; the oldest first.',
  }),
})

const Answers = z
  .object({
    canonical: z.string().meta({ description: 'Where is the canonical revision?' }),
    intent: z.string().meta({ description: 'Where is the intent?' }),
    operation: z.string().meta({ description: 'Which key repeats the operation?' }),
    consumers: z.string().meta({ description: 'Which revision did each consumer confirm?' }),
    public: z.string().meta({ description: 'What will a public read show meanwhile?' }),
  })
  .meta({ description: 'The five questions, in words.' })
export type Answers = z.infer<typeof Answers>

export const Verdict = z.object({
  state: z.enum(keysOf(STATES)).meta({ description: meanings(STATES) }),
  because: z
    .enum(keysOf(BECAUSE))
    .nullable()
    .meta({ description: meanings(BECAUSE) }),
  owner: z.enum(OWNERS).meta({ description: 'Whose the next step is.' }),
  isLate: z.boolean().nullable().meta({
    description: 'The allowed delay of this step is over; null: no step is open, or its age is not known.',
  }),
  explanation: z.string(),
})
export type Verdict = z.infer<typeof Verdict>

export const Publication = z
  .object({
    noteId: NoteId,
    revision: Revision,
    chosen: z.enum(['asked', 'newest-canonical', 'newest-known']).meta({
      description:
        'How the revision was chosen: named in the request; the newest at the source; or the newest that the projection knows, because the source did not answer or does not have the note.',
    }),
    ...Verdict.shape,
    readAt: time,
    canonical: z.object({
      contentDigest: evidence(z.string()),
      visibility: evidence(z.string()),
      occurredAt: evidence(time),
      newestRevision: evidence(Revision).meta({ description: 'Of the note, at the source.' }),
    }),
    operation: z.object({
      principal: evidence(z.string()),
      idempotencyKey: evidence(z.string()),
      answer: evidence(z.record(z.string(), z.unknown())).meta({
        description: 'What the write API answered.',
      }),
      answeredAt: evidence(time),
    }),
    intent: z.object({
      key: evidence(z.string()).meta({ description: 'noteId:revision' }),
      eventId: evidence(z.uuid()),
      eventType: evidence(z.string()),
      createdAt: evidence(time),
      envelope: evidence(z.object({ bytes: count, sha256: z.string() })),
      traceparent: evidence(z.string()),
    }),
    commit: z.object({
      at: evidence(time),
      walPosition: evidence(z.string()),
      writePath: evidence(WritePath),
    }),
    relay: Relay,
    records: evidence(RecordsSeen),
    consumers: z.array(ConsumerOutcome),
    catalog: evidence(CatalogRevision),
    public: z.object({ note: evidence(PublicNoteAnswer), list: evidence(PublicListAnswer) }),
    answers: Answers,
  })
  .meta({ id: 'Publication', description: 'The causal chain of one publication.' })
export type Publication = z.infer<typeof Publication>

export const NoteParams = z.object({ noteId: NoteId })
export const PublicationParams = z.object({
  noteId: NoteId,
  revision: wholeNumber(1, LIMITS.maxRevision).meta({ description: 'The revision.', example: 1 }),
})
