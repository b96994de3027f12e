import { z } from 'zod'
import type { ZodOpenApiOperationObject } from 'zod-openapi'
import { LIMITS, Revision, SaveNoteCommand } from '../../core/note.ts'
import { jsonAnswer, openApiDocument, problemAnswers, RetryAfterSeconds } from '../../core/openapi.ts'
import { Accepted, CanonicalNote, EventStatus, Publication, RevisionPage } from './answers.ts'
import { EventParams } from './events.ts'
import { IDEMPOTENCY_KEY_HEADER } from './idempotency.ts'
import { JSON_TEXT_BYTES } from './json-body.ts'
import { NoteParams, RevisionParams } from './notes.ts'
import { RevisionsQuery } from './revisions.ts'

const traceparent = z.string().meta({ description: 'W3C trace context of this request.' })
const cacheControl = z.string()
const etag = z
  .string()
  .regex(/^"[0-9]+-[0-9a-f]{32}"$/)
  .meta({ description: '"<revision>-<content digest>", strong.' })

const READ_PROBLEMS = [
  'unauthenticated',
  'forbidden',
  'method-not-allowed',
  'too-many-requests',
  'unavailable',
] as const

const saveNote: ZodOpenApiOperationObject = {
  operationId: 'saveNote',
  summary: 'Save the next revision of a note',
  description: [
    'Role editor. 202 means: note, canonical revision, publication intent and request receipt are committed in one transaction. It does not mean that readers see it.',
    `The JSON text may have ${JSON_TEXT_BYTES} bytes, uncompressed UTF-8; the note's body ${LIMITS.bodyBytes} bytes. Numbers are written as plain digits; 3.0 is 3. Of members with the same name the last one counts.`,
    'A repeat with the same key and content gets the original answer with Idempotency-Replayed: true, for as long as receipts are kept (at least 7 days).',
  ].join('\n\n'),
  requestParams: {
    header: z.object({
      'Idempotency-Key': z
        .string()
        .regex(IDEMPOTENCY_KEY_HEADER)
        .meta({
          description: `1 to ${LIMITS.idempotencyKeyChars} visible ASCII characters, bare or in double quotes; yours alone (scoped to issuer and subject of the token).`,
          example: '4c6f3f5e-0d0a-4d8a-9a53-d2c1f3b1a0c7',
        }),
      traceparent: z
        .string()
        .optional()
        .meta({ description: 'W3C trace context; stored with the event and sent on.' }),
    }),
  },
  requestBody: { required: true, content: { 'application/json': { schema: SaveNoteCommand } } },
  responses: {
    '202': jsonAnswer(
      'Committed.',
      Accepted,
      z.object({
        Location: z.string().meta({ description: 'Where to ask whether the broker has it.' }),
        'Idempotency-Replayed': z.literal('true').optional(),
        'Cache-Control': cacheControl,
        traceparent,
      }),
    ),
    ...problemAnswers(
      'idempotency-key-required',
      'unauthenticated',
      'forbidden',
      'method-not-allowed',
      'revision-conflict',
      'payload-too-large',
      'unsupported-media-type',
      'invalid-content',
      'idempotency-key-reused',
      'too-many-requests',
      'idempotency-key-in-progress',
      'unavailable',
    ),
  },
}

const canonical = (operationId: string, summary: string, path: z.ZodObject): ZodOpenApiOperationObject => ({
  operationId,
  summary,
  description: 'The canonical content, whether readers see it yet or not. Role editor, operator or reader.',
  requestParams: {
    path,
    header: z.object({ 'If-None-Match': z.string().optional() }),
  },
  responses: {
    '200': jsonAnswer(
      'The canonical revision.',
      CanonicalNote,
      z.object({ ETag: etag, 'Note-Revision': Revision, 'Cache-Control': cacheControl, traceparent }),
    ),
    '304': { description: 'The ETag still holds.', headers: z.object({ ETag: etag }) },
    ...problemAnswers(...READ_PROBLEMS, 'not-found'),
  },
})

/** The document served at /openapi.json. */
export const document = () =>
  openApiDocument(
    {
      title: 'Notes: write API',
      version: '1.0.0',
      description: 'Editors save notes here, and ask where a revision is on its way to the readers.',
    },
    {
      '/notes': { post: saveNote },
      '/notes/{noteId}': {
        get: canonical('getNote', 'The current canonical revision of a note', NoteParams),
      },
      '/notes/{noteId}/revisions': {
        get: {
          operationId: 'listRevisions',
          summary: 'The revisions of a note, newest first',
          requestParams: { path: NoteParams, query: RevisionsQuery },
          responses: {
            '200': jsonAnswer(
              'One page.',
              RevisionPage,
              z.object({ 'Cache-Control': cacheControl, traceparent }),
            ),
            ...problemAnswers(...READ_PROBLEMS, 'not-found'),
          },
        },
      },
      '/notes/{noteId}/revisions/{revision}': {
        get: canonical('getRevision', 'One canonical revision of a note', RevisionParams),
      },
      '/events/{eventId}': {
        get: {
          operationId: 'getEvent',
          summary: 'Has the broker accepted the record of this event?',
          description:
            'Decided by what the relay watcher has recorded: that the replication slot of the commit is past it, or that a record of this event was seen. The read API is not asked, so this can say accepted for some time where GET /publications says confirmed with evidence visible, because readers get that very revision.',
          requestParams: { path: EventParams },
          responses: {
            '200': jsonAnswer(
              'accepted or confirmed, with the evidence.',
              EventStatus,
              z.object({
                'Cache-Control': cacheControl,
                'Retry-After': RetryAfterSeconds.optional().meta({
                  description: 'Seconds; present while accepted.',
                }),
                traceparent,
              }),
            ),
            ...problemAnswers(...READ_PROBLEMS, 'not-found'),
          },
        },
      },
      '/publications/{noteId}/{revision}': {
        get: {
          operationId: 'getPublication',
          summary: 'Accepted, confirmed, visible: how far is this revision?',
          description:
            'Asks the read API as a reader would. Confirmed by evidence of the relay, as in GET /events, or else because readers get exactly this revision: confirmed.evidence says which. The two answers therefore differ when there is only the latter.',
          requestParams: { path: RevisionParams },
          responses: {
            '200': jsonAnswer(
              'One word each, with its time.',
              Publication,
              z.object({
                'Cache-Control': cacheControl,
                'Retry-After': RetryAfterSeconds.optional().meta({
                  description: 'Seconds; present while readers do not have it.',
                }),
                traceparent,
              }),
            ),
            ...problemAnswers(...READ_PROBLEMS, 'not-found'),
          },
        },
      },
    },
    true,
  )
