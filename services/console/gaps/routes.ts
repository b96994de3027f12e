import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { closeGaps } from './close.ts'
import { ClosedGaps, CloseGapsBody, GapPage, GapsQuery } from './contract.ts'
import { requireNote } from './known-note.ts'
import { readGaps } from './read.ts'

/** Revisions that readers were taken past, and a person's decision to leave it so. */
export function gapRoutes(
  app: Express,
  admit: Admit,
  { source, projection }: Pick<ConsoleParts, 'source' | 'projection'>,
): void {
  app
    .route('/gaps')
    .get(...admit, async (req, res) => {
      const query = valid(GapsQuery, req.query)
      const found = await readGaps(projection, query)
      if (found.length === 0 && query.noteId !== undefined) {
        await requireNote({ source, projection }, query.noteId)
      }
      const gaps = found.slice(0, query.limit)
      const last = gaps.at(-1)
      const next = last && found.length > gaps.length ? nextPage('/gaps', query, [last.id]) : null
      res.set('Cache-Control', CACHE_CONTROL).json({ gaps, next })
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/gaps/close')
    .post(...admit, ...actionBody, async (req, res) => {
      const { noteId, firstRevision, lastRevision = firstRevision, reason } = actionOf(CloseGapsBody, req)
      if (lastRevision < firstRevision) {
        throw new Problem('invalid-content', 'lastRevision is before firstRevision.')
      }
      const principal = principalOf(req).id
      const closed = await closeGaps(projection, { noteId, firstRevision, lastRevision, principal, reason })
      res.set('Cache-Control', CACHE_CONTROL).json(closed)
    })
    .all(methodNotAllowed('POST'))
}

export const gapPaths: ZodOpenApiPathsObject = {
  '/gaps': {
    get: {
      operationId: 'listGaps',
      summary: 'Revisions that the live catalog has passed without having seen them',
      description: 'Role operator. In the order in which they were recorded.',
      requestParams: { query: GapsQuery },
      responses: {
        '200': jsonAnswer('One page.', GapPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/gaps/close': {
    post: {
      operationId: 'closeGaps',
      summary: 'Accept that revisions are missing which no record will bring any more',
      description:
        'Role operator. Closes what is open of them, and with it their alarm; changes nothing that readers see. Of an open run the rest stays open.',
      requestBody: { required: true, content: { 'application/json': { schema: CloseGapsBody } } },
      responses: {
        '200': jsonAnswer('What was closed; nothing, when none of them is open.', ClosedGaps, answerHeaders),
        ...problemAnswers(...ACTION_PROBLEMS),
      },
    },
  },
}
