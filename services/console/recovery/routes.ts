import type { Express } from 'express'
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed, spanOf, traceparentOf } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { Problem } from '../../../core/problem.ts'
import { ATTRIBUTE } from '../../../core/tracing/attributes.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { PlanQuery, Recovery, RecoveryBody, RecoveryParams, RecoveryPlan } from './contract.ts'
import { readPlan } from './read-plan.ts'
import type { RecoveryParts } from './steps.ts'
import { begin, readRecovery, readUnfinished, shown } from './store.ts'

export type RecoveryRouteParts = RecoveryParts & Pick<ConsoleParts, 'onRecoveryBegun'>

/** What would be done about the relay, and doing it. */
export function recoveryRoutes(app: Express, admit: Admit, parts: RecoveryRouteParts): void {
  const { source, relay } = parts
  app
    .route('/relay/recovery')
    .get(...admit, async (req, res) => {
      const { force } = valid(PlanQuery, req.query)
      const { shown: plan } = await readPlan(parts, force === 'true')
      res.set('Cache-Control', CACHE_CONTROL).json(plan)
    })
    .post(...admit, ...actionBody, async (req, res) => {
      const { reason, force } = actionOf(RecoveryBody, req)
      const by = { principal: principalOf(req).id, traceparent: traceparentOf(req) }
      const id = await beginOnce(parts, { reason, force, ...by })
      spanOf(req)?.setAttribute(ATTRIBUTE.actionId, id)
      parts.onRecoveryBegun()
      const recovery = await readRecovery(source, id)
      if (!recovery) throw new Error('the recovery that was begun is gone')
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/relay/recovery/${id}` })
        .json(shown(recovery))
    })
    .all(methodNotAllowed('GET', 'POST'))
  app
    .route('/relay/recovery/:recoveryId')
    .get(...admit, async (req, res) => {
      const { recoveryId } = valid(RecoveryParams, req.params)
      const recovery = await readRecovery(source, recoveryId)
      if (!recovery) throw new Problem('not-found', `There is no recovery ${recoveryId}.`)
      res.set('Cache-Control', CACHE_CONTROL).json(shown(recovery))
    })
    .all(methodNotAllowed('GET'))

  /** @returns the id of the recovery that is running then, which may be one that was begun before */
  async function beginOnce(
    all: RecoveryRouteParts,
    request: {
      readonly reason: string
      readonly force: boolean
      readonly principal: string
      readonly traceparent: string
    },
  ): Promise<string> {
    const unfinished = await readUnfinished(source, relay.slotName)
    if (unfinished) return unfinished.id
    const { plan, shown: details } = await readPlan(all, request.force)
    const [step] = plan.steps
    if (!step || plan.refused) throw new Problem('action-refused', plan.refused ?? 'There is nothing to do.')
    const action = {
      action: 'relay.recover' as const,
      target: relay.slotName,
      principal: request.principal,
      reason: request.reason,
      details: {
        force: request.force,
        situation: details.situation,
        slot: details.slot,
        missing: details.missing.count,
        traceparent: request.traceparent,
      },
    }
    const id = await begin(source, action, { slotName: relay.slotName, situation: plan.situation, step })
    const begun = id ?? (await readUnfinished(source, relay.slotName))?.id
    if (!begun)
      throw new Problem('action-refused', 'Another recovery has just ended; look at the plan again.')
    return begun
  }
}

export const recoveryPaths: ZodOpenApiPathsObject = {
  '/relay/recovery': {
    get: {
      operationId: 'getRelayRecoveryPlan',
      summary: 'What is wrong with the relay, what a recovery would do, and which revisions it would replay',
      description:
        'Role operator. Changes nothing. `recovery` is the one that is running, or else the last one.',
      requestParams: { query: PlanQuery },
      responses: {
        '200': jsonAnswer('The plan.', RecoveryPlan, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
    post: {
      operationId: 'recoverRelay',
      summary: 'Recover the relay',
      description:
        'Role operator. The steps are done one after another in the background, also over a restart of this API. While one recovery is running, asking again answers with it.',
      requestBody: { required: true, content: { 'application/json': { schema: RecoveryBody } } },
      responses: {
        '202': jsonAnswer(
          'The recovery that is running now; ask its address how far it is.',
          Recovery,
          answerHeaders.extend({ Location: z.string().meta({ description: 'Address of the recovery.' }) }),
        ),
        ...problemAnswers(...ACTION_PROBLEMS, 'action-refused'),
      },
    },
  },
  '/relay/recovery/{recoveryId}': {
    get: {
      operationId: 'getRelayRecovery',
      summary: 'How far a recovery of the relay is',
      description: 'Role operator.',
      requestParams: { path: RecoveryParams },
      responses: {
        '200': jsonAnswer('The recovery.', Recovery, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
