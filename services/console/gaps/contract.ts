import { z } from 'zod'
import { NoteId, Revision } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'
import { ActionBody } from '../action-request.ts'

export const GapsQuery = z.strictObject({
  noteId: NoteId.optional().meta({ description: 'Only gaps of this note.' }),
  state: z.enum(['open', 'closed']).default('open').meta({
    description:
      'open: runs of revisions that are missing. closed: those that were; single revisions, unless a person accepted a run.',
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
    seenByAudit: z.enum(['none', 'some', 'all']).meta({
      description:
        'Of how many of them the audit consumer has seen a record that catalog does not keep in quarantine. all: the records came, and what catalog had applied of them is gone or was changed; no record closes such a gap.',
    }),
    closedAt: z.iso.datetime().nullable(),
    closedHow: z.enum(['arrived', 'discarded', 'accepted']).nullable().meta({
      description:
        'arrived: its record came later. discarded: its record was, in quarantine. accepted: by a person, although it is missing.',
    }),
    closedByAction: z
      .uuid()
      .nullable()
      .meta({ description: 'Who accepted it, and why: /actions/{actionId}.' }),
  })
  .meta({ id: 'RevisionGap', description: 'Revisions that catalog has passed without having seen them.' })
export type RevisionGap = z.infer<typeof RevisionGap>

export const GapPage = z
  .object({ gaps: z.array(RevisionGap), next: z.string().nullable().meta({ description: 'The next page.' }) })
  .meta({ id: 'GapPage' })

export const CloseGapsBody = ActionBody.extend({
  noteId: NoteId,
  firstRevision: Revision,
  lastRevision: Revision.optional().meta({ description: 'Without it: only firstRevision.', example: 3 }),
})

export const ClosedGaps = z
  .object({
    actionId: z.uuid(),
    status: z.enum(['done', 'no-effect']).meta({ description: 'no-effect: none of them is an open gap.' }),
    noteId: NoteId,
    closed: z.array(z.object({ firstRevision: z.int(), lastRevision: z.int(), openedAt: z.iso.datetime() })),
  })
  .meta({ id: 'ClosedGaps' })
export type ClosedGaps = z.infer<typeof ClosedGaps>
