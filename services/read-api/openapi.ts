import { z } from 'zod'
import { Revision } from '../../core/note.ts'
import {
  jsonAnswer,
  type OpenApiDocument,
  openApiDocument,
  problemAnswers,
  RetryAfterSeconds,
} from '../../core/openapi.ts'
import { ProblemDetails } from '../../core/problem.ts'
import { ListQuery, NotePage, NotePath, NoteQuery, NotVisible, PublicNote } from './contract.ts'
import { READ_LIMITS } from './limits.ts'
import { CACHE_CONTROL } from './send.ts'

const freshness = {
  'Projection-As-Of': z.union([z.iso.datetime(), z.literal('unknown')]).meta({
    description: 'Everything committed before this time is in the answer. unknown: nobody can say.',
  }),
  'Projection-Freshness': z.enum(['current', 'behind', 'unknown']).meta({
    description:
      'current: as of at most 10 s ago. behind: older. unknown: no recent watermark, e.g. the relay is down.',
  }),
}
const noteRevision = { 'Note-Revision': Revision.meta({ description: 'The revision the catalog has.' }) }
const caching = {
  ETag: z.string().meta({ description: 'Strong.' }),
  'Cache-Control': z.literal(CACHE_CONTROL),
}
const preferenceApplied = {
  'Preference-Applied': z
    .string()
    .optional()
    .meta({
      description: `wait=S as it was applied; at most ${READ_LIMITS.waitSecondsMax} s.`,
    }),
}
const retryAfter = { 'Retry-After': RetryAfterSeconds }

const problem = (description: string, headers: z.ZodRawShape, schema: z.ZodType = ProblemDetails) => ({
  description,
  content: { 'application/problem+json': { schema } },
  headers: z.object(headers),
})
const headersOnly = (description: string, headers: z.ZodRawShape) => ({
  description,
  headers: z.object(headers),
})
const ifNoneMatch = z
  .string()
  .optional()
  .meta({ description: 'ETags the client has, or *; then 304 when nothing changed.' })

/** The OpenAPI 3.1 document of the public read API. HEAD works wherever GET does. */
export const readApiDocument = (): OpenApiDocument =>
  openApiDocument(
    {
      title: 'Notes public read API',
      version: '1.0.0',
      description:
        'Published notes, as the live catalog generation has them. Public: no authentication. It says which revision it shows and how fresh it is; it shows the newest revision only when asked with minRevision.',
    },
    {
      '/notes': {
        get: {
          operationId: 'listPublicNotes',
          summary: 'Published notes, newest first, in pages',
          requestParams: { query: ListQuery, header: z.object({ 'If-None-Match': ifNoneMatch }) },
          responses: {
            '200': jsonAnswer(
              'A page.',
              NotePage,
              z.object({ ...freshness, ...caching, Link: z.string().optional() }),
            ),
            '304': headersOnly('The page is as the client has it.', { ...freshness, ...caching }),
            ...problemAnswers('method-not-allowed', 'too-many-requests'),
            '503': problem('unavailable: the projection database is away.', { ...freshness, ...retryAfter }),
          },
        },
      },
      '/notes/{noteId}': {
        get: {
          operationId: 'getPublicNote',
          summary: 'One published note',
          requestParams: {
            path: NotePath,
            query: NoteQuery,
            header: z.object({
              'If-None-Match': ifNoneMatch,
              Prefer: z
                .string()
                .optional()
                .meta({ description: 'RFC 7240 wait=S, with minRevision.', example: 'wait=1' }),
            }),
          },
          responses: {
            '200': jsonAnswer(
              'The note.',
              PublicNote,
              z.object({ ...freshness, ...noteRevision, ...caching, ...preferenceApplied }),
            ),
            '304': headersOnly('The note is as the client has it.', {
              ...freshness,
              ...noteRevision,
              ...caching,
              ...preferenceApplied,
            }),
            ...problemAnswers('method-not-allowed', 'too-many-requests'),
            '404': problem('not-found: the catalog shows no note of that id.', freshness),
            '410': problem('gone: the note was withdrawn. Comes before any 304.', {
              ...freshness,
              ...noteRevision,
              ...preferenceApplied,
            }),
            '503': problem(
              'revision-not-visible: the catalog does not have minRevision (yet); unavailable: the projection database is away.',
              {
                ...freshness,
                ...retryAfter,
                'Note-Revision': Revision.optional(),
                ...preferenceApplied,
              },
              z.union([
                z.intersection(
                  ProblemDetails.extend({ code: z.literal('revision-not-visible') }),
                  z.looseObject(NotVisible.shape),
                ),
                ProblemDetails.extend({ code: z.literal('unavailable') }),
              ]),
            ),
          },
        },
      },
    },
    false,
  )
