import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { Diagnosis } from './contract.ts'
import { diagnosePipeline } from './pipeline.ts'

/** What is not in order, from facts, with who has the next step and the command for it. */
export function diagnosisRoutes(app: Express, admit: Admit, parts: ConsoleParts): void {
  app
    .route('/diagnosis')
    .get(...admit, async (_req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await diagnosePipeline(parts))
    })
    .all(methodNotAllowed('GET'))
}

export const diagnosisPaths: ZodOpenApiPathsObject = {
  '/diagnosis': {
    get: {
      operationId: 'diagnosePipeline',
      summary:
        'The whole pipeline: counts by state, lags, and what is not in order with cause, owner and command',
      description:
        'Role operator. Changes nothing and scans nothing. Answers also when servers are away: what only they know is said to be unknown.',
      responses: {
        '200': jsonAnswer('What was read, and what was recognised from it.', Diagnosis, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
}
