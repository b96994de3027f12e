import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { ActionBody } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, ROUTE_PROBLEMS } from '../documented.ts'
import {
  PlanQuery,
  Rebuild,
  RebuildBody,
  RebuildPage,
  RebuildParams,
  RebuildPlan,
  RebuildsQuery,
  Switched,
} from './contract.ts'

const located = answerHeaders.extend({
  Location: z.string().meta({ description: 'Address of the rebuild.' }),
})

const SAFE =
  'The same step forth and back. Every note of both generations is compared with the other and with the source, without holding anything; then, for milliseconds, nothing is applied to either while what was applied since is compared once more and the one row that readers follow is changed. Refused, with what differs, unless the candidate is nowhere behind and every difference is explained.'

const turn = (operationId: string, summary: string): ZodOpenApiOperationObject => ({
  operationId,
  summary,
  description: `Role operator. ${SAFE} It answers when it is done, after seconds for many notes.`,
  requestParams: { path: RebuildParams },
  requestBody: { required: true, content: { 'application/json': { schema: ActionBody } } },
  responses: {
    '200': jsonAnswer('Readers see the other generation now.', Switched, answerHeaders),
    ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused'),
  },
})

export const rebuildPaths: ZodOpenApiPathsObject = {
  '/rebuild-plan': {
    get: {
      operationId: 'getRebuildPlan',
      summary: 'What a rebuild would read, what it cannot contain, and whether it is refused',
      description: 'Role operator. Changes nothing.',
      requestParams: { query: PlanQuery },
      responses: {
        '200': jsonAnswer('The plan.', RebuildPlan, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'action-refused'),
      },
    },
  },
  '/rebuilds': {
    get: {
      operationId: 'listRebuilds',
      summary: 'Rebuilds and how far they are, newest first',
      description: 'Role operator. What is recorded is answered also while Kafka is away.',
      requestParams: { query: RebuildsQuery },
      responses: {
        '200': jsonAnswer('One page.', RebuildPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
    post: {
      operationId: 'beginRebuild',
      summary: 'Build a second generation beside the live one',
      description:
        'Role operator. Readers see nothing of it until it is switched to. It goes on in the background, also over a restart of this API. One at a time of each consumer.',
      requestBody: { required: true, content: { 'application/json': { schema: RebuildBody } } },
      responses: {
        '202': jsonAnswer('It has begun; ask its address how far it is.', Rebuild, located),
        ...problemAnswers(...ACTION_PROBLEMS, 'action-refused'),
      },
    },
  },
  '/rebuilds/{rebuildId}': {
    get: {
      operationId: 'getRebuild',
      summary: 'How far a rebuild is',
      description: 'Role operator.',
      requestParams: { path: RebuildParams },
      responses: {
        '200': jsonAnswer('The rebuild.', Rebuild, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/rebuilds/{rebuildId}/switch': {
    post: turn('switchRebuild', 'Make the generation that was built the one that readers see'),
  },
  '/rebuilds/{rebuildId}/rollback': {
    post: turn('rollBackRebuild', 'Make the generation of before the one that readers see again'),
  },
  '/rebuilds/{rebuildId}/drop': {
    post: {
      operationId: 'dropRebuild',
      summary: 'Delete the generation of a rebuild that is not live',
      description:
        'Role operator. It is not fed from now on; its rows and its consumer group are deleted in the background. There is no way back.',
      requestParams: { path: RebuildParams },
      requestBody: { required: true, content: { 'application/json': { schema: ActionBody } } },
      responses: {
        '202': jsonAnswer('It is being dropped.', Rebuild, located),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused'),
      },
    },
  },
}
