import { z } from 'zod'
import { NoteId } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'

/** What each class of difference means; printed in the API's document. */
export const CLASSES = {
  'note-only': 'the source has the revision without an intent, or a note at a revision without content',
  'intent-pending': 'an intent, late, has no record; the relay may still bring it, or audit read it',
  skipped: 'an intent has no record, and nothing that runs by itself will bring one',
  'catalog-missing': 'the catalog does not have the note',
  'catalog-behind': 'the catalog shows an older revision',
  'catalog-ahead': 'the catalog shows a revision that the source does not have',
  'content-differs': 'the same revision has other content in the catalog',
  'record-unknown': 'audit or the catalog applied an event that the source does not have',
} as const
export type DifferenceClass = keyof typeof CLASSES
const CLASS_NAMES = Object.keys(CLASSES) as [DifferenceClass, ...DifferenceClass[]]

export const BECAUSE = [
  'no-intent',
  'no-content',
  'relay-behind',
  'audit-behind',
  'topic-unreadable',
  'no-slot-at-commit',
  'older-incarnation',
  'relay-passed',
  'slot-missing',
  'slot-lost',
  'slot-foreign',
  'slot-mismatch',
  'in-audit',
  'in-catalog',
  'in-audit-and-catalog',
] as const

export const Difference = z
  .object({
    class: z.enum(CLASS_NAMES).meta({
      description: Object.entries(CLASSES)
        .map(([name, meaning]) => `${name}: ${meaning}.`)
        .join(' '),
    }),
    noteId: z.string().nullable(),
    revision: z.int().nullable().meta({
      description: 'The revision of the source; for record-unknown the one that the record names.',
    }),
    projectionRevision: z.int().nullable().meta({ description: 'What the catalog shows instead.' }),
    eventId: z.uuid().nullable(),
    because: z.enum(BECAUSE).nullable(),
    sourceDigest: z.string().nullable().meta({ description: 'Of the content stored at the source.' }),
    projectionDigest: z.string().nullable().meta({ description: 'Of the content stored in the catalog.' }),
    committedAt: z.iso.datetime().nullable().meta({
      description: 'Commit of the oldest revision that has not arrived, where one has not.',
    }),
  })
  .meta({ id: 'Difference' })
export type Difference = z.infer<typeof Difference>

const Snapshot = z.object({
  snapshot: z.string().meta({ description: 'pg_current_snapshot(): the transactions that were visible.' }),
  at: z.iso.datetime().meta({ description: 'By the clock of that server.' }),
})

const milliseconds = z.int().min(0)

export const Result = z.object({
  equal: z.boolean().meta({ description: 'No difference was found, and everything was compared.' }),
  complete: z.boolean().meta({ description: 'false: there are more differences than are listed.' }),
  counts: z
    .object(
      Object.fromEntries(CLASS_NAMES.map((name) => [name, z.int().min(0)])) as Record<
        DifferenceClass,
        z.ZodInt
      >,
    )
    .meta({ description: 'Listed differences of each class.' }),
  inFlight: z.int().min(0).meta({ description: 'Findings that were gone when they were looked at again.' }),
  compared: z.object({
    notes: z.int(),
    revisions: z.int(),
    intents: z.int(),
    recordedEvents: z.int().meta({ description: 'Events of which audit has seen a record.' }),
    appliedEvents: z.int().meta({ description: 'Events in the inbox of the live catalog.' }),
    catalogNotes: z.int(),
  }),
  ranges: z.object({ all: z.int(), differing: z.int(), opened: z.int() }),
  comparingMs: milliseconds,
  waitedMs: milliseconds.meta({ description: 'For what was in flight, and for the relay and audit.' }),
  snapshots: z.object({ source: Snapshot, projection: Snapshot }),
})
export type Result = z.infer<typeof Result>

export const Verification = z
  .object({
    id: z.uuid(),
    noteId: z.string().nullable(),
    deep: z.boolean(),
    status: z.enum(['running', 'done', 'failed']),
    startedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    failure: z
      .string()
      .nullable()
      .meta({ description: 'Why it could not be finished: which part was away.' }),
    result: Result.nullable().meta({ description: 'null until it is done.' }),
  })
  .meta({ id: 'Verification' })
export type Verification = z.infer<typeof Verification>

export const VerificationBody = z.strictObject({
  noteId: NoteId.optional().meta({ description: 'Only this note.' }),
  deep: z.boolean().default(false).meta({
    description:
      'Compute all content digests again from the stored columns; takes minutes for a million notes.',
  }),
})

export const VerificationParams = z.object({ verificationId: z.uuid() })

export const DifferencesQuery = z.strictObject({
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,9}$/)])).optional(),
  limit: limitParameter(500, 1_000),
})

export const DifferencePage = z
  .object({
    differences: z.array(Difference),
    next: z.string().nullable().meta({ description: 'The next page.' }),
  })
  .meta({ id: 'DifferencePage' })
