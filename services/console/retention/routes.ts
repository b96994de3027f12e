import type { Express } from 'express'
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit } from '../parts.ts'
import { RetentionPlan, RetentionRun, RunBody, RunParams } from './contract.ts'
import { brokenRules, readRetentionPlan, topicForgets } from './plan.ts'
import type { RetentionParts } from './runner.ts'
import { beginRun, readRun, readUnfinishedRun, shownRun } from './store.ts'

export type RetentionRouteParts = RetentionParts & { readonly onRetentionBegun: () => void }

/** The retention contract: what a run would do, and doing it. */
export function retentionRoutes(app: Express, admit: Admit, parts: RetentionRouteParts): void {
  const { source, retention } = parts
  const shown = async (id: string) => {
    const run = await readRun(source, id)
    if (!run) throw new Problem('not-found', `There is no run of retention ${id}.`)
    return shownRun(run)
  }
  app
    .route('/retention/plan')
    .get(...admit, async (_req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await readRetentionPlan(parts))
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/retention/runs')
    .post(...admit, ...actionBody, async (req, res) => {
      const { reason } = actionOf(RunBody, req)
      const id = (await readUnfinishedRun(source))?.id ?? (await begin(reason, principalOf(req).id))
      parts.onRetentionBegun()
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/retention/runs/${id}` })
        .json(await shown(id))
    })
    .all(methodNotAllowed('POST'))
  app
    .route('/retention/runs/:runId')
    .get(...admit, async (req, res) => {
      const { runId } = valid(RunParams, req.params)
      res.set('Cache-Control', CACHE_CONTROL).json(await shown(runId))
    })
    .all(methodNotAllowed('GET'))

  async function begin(reason: string, principal: string): Promise<string> {
    const refused = brokenRules(parts, await topicForgets(parts))
    if (refused.length > 0) {
      const what = refused.map(({ explanation }) => explanation).join(' ')
      throw new Problem('action-refused', `The retention contract does not hold; nothing was done. ${what}`, {
        extra: { refused },
      })
    }
    const action = { action: 'retention.run' as const, target: 'outbox, request_receipts', principal, reason }
    return beginRun(source, { ...action, details: { limits: retention } }, retention)
  }
}

export const retentionPaths: ZodOpenApiPathsObject = {
  '/retention/plan': {
    get: {
      operationId: 'getRetentionPlan',
      summary: 'What a run of retention would take away now, what it would keep and why',
      description: 'Role operator. Changes nothing. Looks at the oldest envelopes only.',
      responses: {
        '200': jsonAnswer('The plan.', RetentionPlan, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/retention/runs': {
    post: {
      operationId: 'runRetention',
      summary: 'Prune envelopes that every consumer has applied, and delete old receipts',
      description:
        'Role operator. Done in the background in small batches, also over a restart of this API. While one run is under way, asking again answers with it. Refused while the contract does not hold.',
      requestBody: { required: true, content: { 'application/json': { schema: RunBody } } },
      responses: {
        '202': jsonAnswer(
          'The run that is under way now; ask its address how far it is.',
          RetentionRun,
          answerHeaders.extend({ Location: z.string().meta({ description: 'Address of the run.' }) }),
        ),
        ...problemAnswers(...ACTION_PROBLEMS, 'action-refused'),
      },
    },
  },
  '/retention/runs/{runId}': {
    get: {
      operationId: 'getRetentionRun',
      summary: 'How far a run of retention is',
      description: 'Role operator.',
      requestParams: { path: RunParams },
      responses: {
        '200': jsonAnswer('The run.', RetentionRun, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
