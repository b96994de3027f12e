import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { ActionBody } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, ROUTE_PROBLEMS } from '../documented.ts'
import { KeysQuery, PlanBody, Replay, ReplayBody, ReplayParams, ReplayPlan } from './contract.ts'

const withBody = (schema: z.ZodType) => ({
  required: true,
  content: { 'application/json': { schema } },
})

export const replayPaths: ZodOpenApiPathsObject = {
  '/replays': {
    post: {
      operationId: 'replay',
      summary: 'Send stored intents once more: the same bytes, the same event ids',
      description:
        'Role operator. The connector reads the rows anew and sends them as records of their own; consumers know the events again, so that nothing takes effect twice. It is done in the background, one replay after another, also over a restart of this API. What cannot be replayed is refused and named in `why`: note-only, pruned, erased, or what is wrong with the relay.',
      requestBody: withBody(ReplayBody),
      responses: {
        '202': jsonAnswer(
          'The replay; ask its address what came of it.',
          Replay,
          answerHeaders.extend({ Location: z.string().meta({ description: 'Address of the replay.' }) }),
        ),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused'),
      },
    },
  },
  '/replays/plan': {
    post: {
      operationId: 'planReplay',
      summary: 'What a replay would send, what it would refuse, and whether the relay can bring it now',
      description: 'Role operator. Changes nothing.',
      requestBody: withBody(PlanBody),
      responses: {
        '200': jsonAnswer('The plan.', ReplayPlan, answerHeaders),
        ...problemAnswers(...ACTION_PROBLEMS, 'action-refused'),
      },
    },
  },
  '/replays/{replayId}': {
    get: {
      operationId: 'getReplay',
      summary: 'How far a replay is: new records, and what each consumer did with them',
      description: 'Role operator.',
      requestParams: { path: ReplayParams, query: KeysQuery },
      responses: {
        '200': jsonAnswer('The replay with one page of its keys.', Replay, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/replays/{replayId}/cancel': {
    post: {
      operationId: 'cancelReplay',
      summary: 'Send no more of a replay',
      description:
        'Role operator. What was sent for stays sent. One that has ended is not changed: then the action has no effect.',
      requestParams: { path: ReplayParams },
      requestBody: withBody(ActionBody),
      responses: {
        '200': jsonAnswer('The replay.', Replay, answerHeaders),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found'),
      },
    },
  },
}
