import { z } from 'zod'
import { NoteContent, NoteId, Revision } from '../../core/note.ts'

/** The bodies this API answers with: the OpenAPI document is made from these. Times are RFC 3339, UTC. */

const Time = z.iso.datetime()
const ObservedAt = Time.nullable().meta({
  description:
    'When this was last observed, null while there is no evidence. It moves on with every observation: the broker had the record by then, possibly long before.',
})
const Incarnation = z.int32().min(1).nullable()
const EventId = z.uuid().meta({ description: 'The event of this revision; equal in every delivery.' })
const Lsn = z
  .string()
  .regex(/^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/)
  .meta({ description: 'A position in the write-ahead log of PostgreSQL.', example: '0/1A2B3C8' })

export const Accepted = z
  .object({
    eventId: EventId,
    noteId: NoteId,
    revision: Revision,
    status: z.literal('accepted'),
    delivery: z.string().meta({ description: 'Where to ask whether the broker has it.' }),
    publication: z.string().meta({ description: 'Where to ask whether readers see it.' }),
  })
  .meta({ id: 'Accepted' })
export type Accepted = z.infer<typeof Accepted>

const contentFields = {
  title: z.string(),
  url: z.string().nullable(),
  type: NoteContent.shape.type,
  body: z.string(),
  visibility: z.enum(['public', 'withdrawn']),
}

export const CanonicalNote = z
  .object({
    noteId: NoteId,
    revision: Revision,
    ...contentFields,
    eventId: EventId.nullable().meta({
      description: 'null: this revision has no publication intent (written around this API).',
    }),
    occurredAt: Time.meta({ description: 'When the write API accepted it, by its own clock.' }),
    erasedAt: Time.nullable().meta({
      description:
        'When the content was erased for good: what stands here is a placeholder. Also of the revision that published it. null: this is the content that was saved.',
    }),
  })
  .meta({ id: 'CanonicalNote' })
export type CanonicalNote = z.infer<typeof CanonicalNote>

export const RevisionPage = z
  .object({
    noteId: NoteId,
    currentRevision: Revision,
    revisions: z
      .array(CanonicalNote.omit({ noteId: true, body: true, url: true }).extend({ etag: z.string() }))
      .meta({ description: 'Newest first, without bodies.' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Address of the page with older revisions; null on the last.' }),
  })
  .meta({ id: 'RevisionPage' })
export type RevisionPage = z.infer<typeof RevisionPage>

export const Evidence = z
  .object({
    kind: z.enum(['recorded', 'record', 'none']).meta({
      description:
        'recorded: the watcher recorded that the relay is past the commit. record: a consumer saw this very event in the topic. none: no evidence yet.',
    }),
    explanation: z.string(),
    readAt: Time,
    relayIncarnation: Incarnation.meta({
      description: 'The incarnation of the replication slot that was there at the commit.',
    }),
    currentIncarnation: Incarnation.meta({ description: 'The newest incarnation on record.' }),
    confirmedLsn: Lsn.nullable().meta({
      description: 'Up to where the slot of that incarnation is known to have delivered.',
    }),
    record: z
      .object({ topic: z.string(), partition: z.int32().min(0), offset: z.string().regex(/^[0-9]{1,19}$/) })
      .nullable()
      .meta({ description: 'The record of kind record.' }),
    observedAt: ObservedAt,
    covers: z.string().meta({ description: 'What "confirmed" does not promise.' }),
  })
  .meta({ id: 'Evidence' })
export type Evidence = z.infer<typeof Evidence>

export const EventStatus = z
  .object({
    eventId: EventId,
    noteId: NoteId,
    revision: Revision,
    status: z.enum(['accepted', 'confirmed']),
    committedAt: Time.nullable().meta({
      description: 'Commit time by the database; null when it no longer knows.',
    }),
    evidence: Evidence,
  })
  .meta({ id: 'EventStatus' })
export type EventStatus = z.infer<typeof EventStatus>

export const Publication = z
  .object({
    noteId: NoteId,
    revision: Revision,
    eventId: EventId.nullable(),
    state: z
      .enum(['note-only', 'accepted', 'confirmed', 'visible', 'withdrawn', 'superseded'])
      .meta({ description: 'How far this revision has provably come, in one word.' }),
    accepted: z.object({
      answer: z.enum(['yes', 'no']).meta({ description: 'no: there is no publication intent for it.' }),
      at: Time.nullable().meta({ description: 'Commit time.' }),
    }),
    confirmed: z.object({
      answer: z.enum(['yes', 'not-yet', 'no']),
      evidence: z.enum(['recorded', 'record', 'visible', 'none']).meta({
        description:
          'What yes rests on. recorded, record: as in GET /events. visible: readers get exactly this revision, so the broker had it, though the relay gives no evidence yet. none: nothing yet.',
      }),
      observedAt: ObservedAt,
    }),
    visible: z.object({
      answer: z.enum(['yes', 'not-yet', 'withdrawn', 'superseded', 'conflict', 'unknown']).meta({
        description:
          'withdrawn: readers get 410 because of this revision. superseded: readers get a newer one. conflict: the read API shows other content under this revision. unknown: the read API gave no usable answer.',
      }),
      at: Time.meta({ description: 'When the read API was asked.' }),
      shownRevision: Revision.nullable(),
      projectionAsOf: z.string().nullable().meta({
        description: 'Projection-As-Of of that answer: an RFC 3339 time or "unknown".',
      }),
    }),
    delivery: z.string().nullable(),
  })
  .meta({ id: 'Publication' })
export type Publication = z.infer<typeof Publication>
