import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { valid } from '../../../core/validate.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { GapPage, GapsQuery } from './contract.ts'
import { readGaps } from './read.ts'

/** Revisions that readers were taken past. */
export function gapRoutes(
  app: Express,
  admit: Admit,
  { projection }: Pick<ConsoleParts, 'projection'>,
): void {
  app
    .route('/gaps')
    .get(...admit, async (req, res) => {
      const query = valid(GapsQuery, req.query)
      const found = await readGaps(projection, query)
      const gaps = found.slice(0, query.limit)
      const last = gaps.at(-1)
      const next = last && found.length > gaps.length ? nextPage('/gaps', query, [last.id]) : null
      res.set('Cache-Control', CACHE_CONTROL).json({ gaps, next })
    })
    .all(methodNotAllowed('GET'))
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
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
}
