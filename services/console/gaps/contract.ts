import { z } from 'zod'
import { NoteId } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'

export const GapsQuery = z.strictObject({
  noteId: NoteId.optional().meta({ description: 'Only gaps of this note.' }),
  state: z.enum(['open', 'closed']).default('open').meta({
    description: 'open: runs of revisions that are missing. closed: single revisions that were.',
  }),
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,18}$/)])).optional(),
  limit: limitParameter(50, 200),
})
export type GapsQuery = z.infer<typeof GapsQuery>

export const RevisionGap = z
  .object({
    id: z.string(),
    noteId: NoteId,
    firstRevision: z.int(),
    lastRevision: z.int(),
    openedAt: z.iso.datetime().meta({ description: 'When a later revision was applied without them.' }),
    ageSeconds: z.number().meta({ description: 'For how long they are, or were, missing.' }),
    openedBy: z.object({
      eventId: z.uuid(),
      revision: z.int(),
      topic: z.string(),
      partition: z.int(),
      offset: z.int(),
    }),
    quarantined: z.boolean().meta({ description: 'A record of the first of them waits in quarantine.' }),
    closedAt: z.iso.datetime().nullable(),
    closedHow: z.enum(['arrived', 'discarded']).nullable(),
  })
  .meta({ id: 'RevisionGap', description: 'Revisions that catalog has passed without having seen them.' })
export type RevisionGap = z.infer<typeof RevisionGap>

export const GapPage = z
  .object({ gaps: z.array(RevisionGap), next: z.string().nullable().meta({ description: 'The next page.' }) })
  .meta({ id: 'GapPage' })
