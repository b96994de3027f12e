import { z } from 'zod'
import { decodeCursor } from '../../core/list-position.ts'
import { LIMITS, NOTE_TYPE_PATTERN, NoteContent, NoteId, Revision } from '../../core/note.ts'
import { wholeNumber } from '../../core/whole-number.ts'
import { READ_LIMITS } from './limits.ts'

/** What comes in. Unknown parameters are refused: a misspelt one would silently change the answer. */
export const NotePath = z.strictObject({ noteId: NoteId })
export const NoteQuery = z.strictObject({
  minRevision: wholeNumber(1, LIMITS.maxRevision)
    .optional()
    .meta({ description: 'Answer with this revision or a newer one, else 503.', example: 7 }),
})
export const ListQuery = z.strictObject({
  limit: wholeNumber(1, READ_LIMITS.pageSizeMax)
    .default(READ_LIMITS.pageSizeDefault)
    .meta({ description: 'Notes per page.' }),
  cursor: z
    .string()
    .transform((text, context) => {
      const position = decodeCursor(text)
      if (!position) context.addIssue({ code: 'custom', message: 'is not a cursor this API gave out' })
      return position ?? z.NEVER
    })
    .optional()
    .meta({ description: 'nextCursor of the page before; opaque.' }),
  type: z
    .string()
    .regex(NOTE_TYPE_PATTERN, 'must match ^[a-z][a-z0-9-]{0,31}$')
    .optional()
    .meta({ description: 'Only notes of this type.', example: 'article' }),
})

const revisedAt = z.iso.datetime().meta({
  description: 'When the editor saved this revision: a source fact, the same after every rebuild.',
})

/** What goes out. */
export const PublicNote = z
  .strictObject({
    noteId: NoteId,
    revision: Revision,
    title: NoteContent.shape.title,
    url: NoteContent.shape.url.unwrap(),
    type: NoteContent.shape.type,
    body: NoteContent.shape.body,
    revisedAt,
  })
  .meta({ id: 'PublicNote', description: 'What the catalog shows of a note.' })
export type PublicNote = z.infer<typeof PublicNote>

export const ListItem = PublicNote.omit({ body: true })
  .extend({ etag: z.string().meta({ description: 'ETag of GET /notes/{noteId} for this revision.' }) })
  .meta({ id: 'ListItem', description: 'A note without its body.' })

export const NotePage = z
  .strictObject({
    items: z.array(ListItem).max(READ_LIMITS.pageSizeMax),
    next: z.string().nullable().meta({ description: 'Address of the next page; null on the last.' }),
    nextCursor: z.string().nullable().meta({ description: 'The cursor in `next`.' }),
  })
  .meta({ id: 'NotePage' })
export type NotePage = z.infer<typeof NotePage>

/** What the projection knows when it does not have the wanted revision: members of the 503 problem. */
export const NotVisible = z.object({
  noteId: NoteId,
  minRevision: Revision,
  visibleRevision: Revision.nullable().meta({ description: 'What the catalog has; null when nothing.' }),
  missingRevisions: z.object({ from: Revision, to: Revision }).meta({
    description: 'Revisions up to the wanted one that the catalog has not shown, both ends included.',
  }),
  recordsBehind: z
    .int()
    .min(0)
    .meta({ override: ({ jsonSchema }) => void delete jsonSchema.maximum })
    .nullable()
    .meta({
      description: 'Records in the topic that the catalog has not applied, at the newest watermark.',
    }),
  asOf: z.iso.datetime().nullable().meta({ description: 'As Projection-As-Of; null when unknown.' }),
  publication: z.url().meta({ description: 'Where an editor sees what became of the revision (write API).' }),
  quarantined: z
    .object({
      reason: z.string(),
      since: z.iso.datetime(),
      discarded: z.boolean().meta({ description: 'An operator decided that it is never applied.' }),
    })
    .optional()
    .meta({ description: 'The record cannot be applied; it will not become visible by waiting.' }),
})
export type NotVisible = z.infer<typeof NotVisible>
