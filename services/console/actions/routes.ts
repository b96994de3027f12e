import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { Action, ActionPage, ActionParams, ActionsQuery, DATABASES } from './contract.ts'
import { type RecordedAction, readAction, readActions } from './read.ts'

/** What was recorded about actions, in both databases. */
export function actionRoutes(
  app: Express,
  admit: Admit,
  parts: Pick<ConsoleParts, 'source' | 'projection'>,
): void {
  app
    .route('/actions')
    .get(...admit, async (req, res) => {
      const query = valid(ActionsQuery, req.query)
      const databases = query.database ? [query.database] : DATABASES
      const found = await Promise.all(databases.map((name) => readActions(parts[name], name, query)))
      res.set('Cache-Control', CACHE_CONTROL).json(pageOf(found.flat(), query))
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/actions/:actionId')
    .get(...admit, async (req, res) => {
      const { actionId } = valid(ActionParams, req.params)
      const looks = await Promise.allSettled(DATABASES.map((name) => readAction(parts[name], name, actionId)))
      const found = looks.find((look) => look.status === 'fulfilled' && look.value)
      // Not found in one database says nothing while the other is away.
      const failed = looks.find((look) => look.status === 'rejected')
      if (found?.status === 'fulfilled') res.set('Cache-Control', CACHE_CONTROL).json(found.value)
      else if (failed) throw failed.reason
      else throw new Problem('not-found', `No action ${actionId} is recorded.`)
    })
    .all(methodNotAllowed('GET'))
}

function pageOf(found: readonly RecordedAction[], query: ActionsQuery): ActionPage {
  const ordered = found.toSorted(newestFirst)
  const page = ordered.slice(0, query.limit)
  const last = page.at(-1)
  return {
    actions: page.map(({ action }) => action),
    next:
      last && ordered.length > page.length
        ? nextPage('/actions', query, [last.micros, last.action.id])
        : null,
  }
}

/** The order of `readActions`, over both databases. */
function newestFirst(a: RecordedAction, b: RecordedAction): number {
  const later = Number(BigInt(b.micros) - BigInt(a.micros))
  if (later !== 0) return later
  return a.action.id < b.action.id ? -1 : 1
}

export const actionPaths: ZodOpenApiPathsObject = {
  '/actions': {
    get: {
      operationId: 'listActions',
      summary: 'What operators did: who, why, and what came of it; newest first',
      description: 'Role operator. Recorded in the database of the effect; this lists both in one order.',
      requestParams: { query: ActionsQuery },
      responses: {
        '200': jsonAnswer('One page.', ActionPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/actions/{actionId}': {
    get: {
      operationId: 'getAction',
      summary: 'One action and what came of it',
      description: 'Role operator. `status` is requested until the part that has to do it has done it.',
      requestParams: { path: ActionParams },
      responses: {
        '200': jsonAnswer('The action.', Action, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
