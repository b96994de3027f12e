import { z } from 'zod'
import { NoteId, Visibility } from '../../../core/note.ts'
import { wholeNumber } from '../../../core/whole-number.ts'
import { ActionBody } from '../action-request.ts'

export const IntentParams = z.object({ noteId: NoteId, revision: wholeNumber(1, 2_147_483_647) })

/** Why no intent is made for a revision. */
export const REFUSALS = {
  exists: 'The revision has an intent already. To send that again: bin/notesctl replay NOTE:REV',
  erased: 'The content of the revision was erased. Nothing publishes it again.',
  'invalid-content':
    'The content breaks a rule that every published revision keeps, so no consumer would apply it. Save it again through the write API as the next revision.',
  'other-event':
    'A consumer has seen another event for this revision. Publishing a second one would be a conflict.',
  'no-schema':
    'No write API has ever learned the id of the event schema here, so nothing can be encoded. Start a write API and the schema registry once (bin/up).',
} as const
export type IntentRefusal = keyof typeof REFUSALS

/** What readers will see once the event is applied. */
export const EFFECTS = {
  shown: 'Once it is relayed and applied, readers see this revision.',
  withdrawn: 'Once it is relayed and applied, the note is withdrawn: readers get 410.',
  stale:
    'A newer revision is visible already. Consumers enter the event as stale: it counts as seen and closes the gap, and readers see no change.',
} as const
export type Effect = keyof typeof EFFECTS

export const IntentPreview = z
  .object({
    noteId: z.string(),
    revision: z.int(),
    eventId: z.uuid().meta({
      description: 'Of the event to be; made from note, revision and content, so always the same.',
    }),
    eventType: z.enum(['NoteRevised', 'NoteWithdrawn']),
    content: z.object({
      title: z.string(),
      url: z.string().nullable(),
      type: z.string(),
      body: z.string(),
      visibility: Visibility,
    }),
    contentDigest: z.string(),
    occurredAt: z.iso.datetime(),
    schemaId: z.int().nullable(),
    envelopeBytes: z.int().nullable(),
    envelopeSha256: z
      .string()
      .nullable()
      .meta({ description: 'Of exactly what would be published, in hex; creating the intent names it.' }),
    writtenBy: z.object({
      sessionUser: z.string(),
      applicationName: z.string(),
      transactionId: z.string(),
    }),
    newestRevision: z.int().meta({ description: 'Of the note at the source.' }),
    visibleRevision: z
      .int()
      .nullable()
      .meta({ description: 'The live catalog has this revision of the note; null: none.' }),
    alsoWithoutIntent: z
      .array(z.int())
      .meta({ description: 'Other revisions of the note that have no intent, at most 20.' }),
    effect: z.enum(Object.keys(EFFECTS) as [Effect, ...Effect[]]),
    explanation: z.string(),
    refused: z
      .enum(Object.keys(REFUSALS) as [IntentRefusal, ...IntentRefusal[]])
      .nullable()
      .meta({ description: 'Why no intent can be made; null: it can.' }),
  })
  .meta({ id: 'IntentPreview' })
export type IntentPreview = z.infer<typeof IntentPreview>

export const IntentBody = ActionBody.extend({
  envelopeSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .meta({
      description: 'As the preview named it: that very envelope is published, or nothing.',
      example: '0'.repeat(64),
    }),
})

export const CreatedIntent = z
  .object({
    actionId: z.uuid(),
    noteId: z.string(),
    revision: z.int(),
    eventId: z.uuid(),
    envelopeSha256: z.string(),
    effect: z.string(),
  })
  .meta({ id: 'CreatedIntent' })
export type CreatedIntent = z.infer<typeof CreatedIntent>
