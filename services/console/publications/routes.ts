import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed, traceparentOf } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { NoteParams, Publication, PublicationParams } from './contract.ts'
import { ForeignCursor } from './lanes.ts'
import { listPublications } from './list.ts'
import { PublicationPage, PublicationsQuery } from './list-contract.ts'
import { newestRevision } from './newest.ts'
import { readPublication } from './read.ts'

/** Where a publication is, and why. */
export function publicationRoutes(
  app: Express,
  admit: Admit,
  { publications: parts }: Pick<ConsoleParts, 'publications'>,
): void {
  app
    .route('/publications')
    .get(...admit, async (req, res) => {
      const query = valid(PublicationsQuery, req.query)
      const { position, ...page } = await listPublications(parts, query, traceparentOf(req)).catch(
        refuseCursor,
      )
      const next = position && nextPage('/publications', query, position)
      res.set('Cache-Control', CACHE_CONTROL).json({ ...page, next })
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/publications/:noteId')
    .get(...admit, async (req, res) => {
      const { noteId } = valid(NoteParams, req.params)
      const newest = await newestRevision(parts, noteId)
      if (!newest) throw new Problem('not-found', `Nothing knows a note ${noteId}.`)
      const { revision, chosen } = newest
      const traceparent = traceparentOf(req)
      const publication = await readPublication(parts, { noteId, revision }, { chosen, traceparent })
      if (!publication) throw new Problem('not-found', `Nothing knows a note ${noteId}.`)
      res.set('Cache-Control', CACHE_CONTROL).json(publication)
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/publications/:noteId/:revision')
    .get(...admit, async (req, res) => {
      const key = valid(PublicationParams, req.params)
      const publication = await readPublication(parts, key, { traceparent: traceparentOf(req) })
      if (!publication) {
        throw new Problem(
          'not-found',
          `Nothing knows ${key.noteId}:${key.revision}; source and projection both answered.`,
        )
      }
      res.set('Cache-Control', CACHE_CONTROL).json(publication)
    })
    .all(methodNotAllowed('GET'))
}

function refuseCursor(error: unknown): never {
  if (error instanceof ForeignCursor) {
    throw new Problem(
      'malformed-request',
      'after: is a cursor of another list. Take it from next of the page before.',
    )
  }
  throw error
}

export const publicationPaths: ZodOpenApiPathsObject = {
  '/publications': {
    get: {
      operationId: 'listPublications',
      summary: 'Publications in a state',
      description:
        'Role operator. In the order of the indexes that lead to them; note-only, intent-pending and intent-relayed the oldest first within each. A page looks at a limited number of index entries, so it can be short or empty and still have a next one. For projection-current the read API is asked once for each entry. What a consumer was moved past by hand is found by a verification.',
      requestParams: { query: PublicationsQuery },
      responses: {
        '200': jsonAnswer('One page.', PublicationPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/publications/{noteId}': {
    get: {
      operationId: 'getNewestPublication',
      summary: 'The same for the newest revision of a note',
      description:
        'Role operator. The newest canonical revision; while the source does not answer, the newest that the projection knows. 503 when that cannot be told.',
      requestParams: { path: NoteParams },
      responses: {
        '200': jsonAnswer('The chain.', Publication, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/publications/{noteId}/{revision}': {
    get: {
      operationId: 'getPublication',
      summary: 'The state of one publication and its causal chain',
      description:
        'Role operator. Each field is a value with where and when it was read, or a named evidence gap: a part that is away is a gap, and the rest is answered all the same. 404 only when source and projection answered and neither knows it; 503 when neither answered. The read API is asked over HTTP, as a reader would.',
      requestParams: { path: PublicationParams },
      responses: {
        '200': jsonAnswer('The chain.', Publication, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
