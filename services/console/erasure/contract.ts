import { z } from 'zod'
import { NoteId } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'
import { ActionBody } from '../action-request.ts'

/** What is left to do after the source's own part, in this order; each can be done again after it was cut off. */
export const STEPS = {
  projection: 'Erase it in the projection: every generation, the inbox, the ledger, quarantine, gaps.',
  tombstone: 'Wait until the tombstone is in the topic and readers are at it or past it.',
} as const
export type StepName = keyof typeof STEPS
const Step = z.enum(Object.keys(STEPS) as [StepName, ...StepName[]])

// Not the note that other examples name: with its content most of what they show would be gone.
const EXAMPLE = 'letter-of-a-reader'

export const ErasureBody = ActionBody.extend({
  noteId: NoteId.meta({
    description: 'The note whose content is erased, every revision so far.',
    example: EXAMPLE,
  }),
})

export const ErasureParams = z.object({ noteId: NoteId.meta({ example: EXAMPLE }) })

export const ErasuresQuery = z.strictObject({
  state: z
    .enum(['all', 'running', 'finished'])
    .default('all')
    .meta({ description: 'running: something of it is still to be done.' }),
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,17}$/), NoteId])).optional(),
  limit: limitParameter(50, 200),
})
export type ErasuresQuery = z.infer<typeof ErasuresQuery>

const erasure = {
  noteId: NoteId,
  actionId: z.uuid().meta({ description: 'Who asked for it and why: /actions/{actionId}.' }),
  throughRevision: z.int().meta({ description: 'The last revision that was erased.' }),
  tombstone: z.object({
    revision: z.int().meta({ description: 'The revision that publishes it: withdrawn, without content.' }),
    eventId: z.uuid(),
  }),
  erasedAt: z.iso
    .datetime()
    .meta({ description: 'At the source, by its clock. From then on nothing of it is there.' }),
  status: z.enum(['running', 'finished']),
  step: Step.nullable().meta({ description: 'What is to be done next; null when it is finished.' }),
  waitsFor: z
    .string()
    .nullable()
    .meta({ description: 'Why the step is not done yet. It is tried again without being asked.' }),
  changedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
}

export const Erasure = z.object(erasure).meta({
  id: 'Erasure',
  description: 'The erasure of a note. What was saved after the tombstone is new content and not part of it.',
})
export type Erasure = z.infer<typeof Erasure>

export const KafkaCopy = z
  .object({
    newestRecord: z
      .object({
        topic: z.string(),
        partition: z.int(),
        offset: z.string(),
        brokerTime: z.iso.datetime(),
      })
      .nullable()
      .meta({ description: 'The newest record with erased content that a consumer has seen; null: none.' }),
    goneBy: z.iso.datetime().nullable().meta({
      description: 'When Kafka has deleted it by its retention, at the latest. null: see explanation.',
    }),
    explanation: z.string(),
  })
  .meta({ id: 'KafkaCopy', description: 'What Kafka still holds: a topic cannot forget single records.' })
export type KafkaCopy = z.infer<typeof KafkaCopy>

export const ErasureDetail = z
  .object({
    ...erasure,
    kafka: KafkaCopy,
    notReached: z
      .array(z.string())
      .meta({ description: 'Copies that no erasure reaches, and who has to see to them.' }),
  })
  .meta({ id: 'ErasureDetail' })
export type ErasureDetail = z.infer<typeof ErasureDetail>

export const ErasurePage = z
  .object({
    erasures: z.array(Erasure).meta({ description: 'Newest first.' }),
    next: z.string().nullable().meta({ description: 'The next page.' }),
    unknownAtSource: z.array(NoteId).nullable().meta({
      description:
        'Notes that were erased in the projection, while the source knows of no such erasure: it was restored to a point before, and has their content again. At most 100. null: the projection is away.',
    }),
  })
  .meta({ id: 'ErasurePage' })
export type ErasurePage = z.infer<typeof ErasurePage>

/** What stays wherever it is. */
export const NOT_REACHED: readonly string[] = [
  'Backups and archived write-ahead logs of both databases: until they expire. After a restore from one, erase the note again.',
  'Write-ahead log and dead row versions of both databases: until PostgreSQL has recycled and vacuumed them; bytes in freed space until they are written over.',
  'Logs of the services: they hold note ids, event ids, idempotency keys and digests, no content.',
  'Whatever readers, caches, other consumers of the topic and copies of it (mirrors, backups) have taken: the tombstone tells them.',
  'What people wrote elsewhere: reasons of operator actions, the note id itself.',
]
