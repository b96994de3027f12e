import { z } from 'zod'
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { ActionBody } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, ROUTE_PROBLEMS } from '../documented.ts'
import { Decided, EntryPage, QuarantineParams, QuarantineQuery, WholeRecord } from './contract.ts'

const decidedHeaders = answerHeaders.extend({
  Location: z.string().meta({ description: 'The recorded action.' }),
})

const decision = (
  operation: Pick<ZodOpenApiOperationObject, 'operationId' | 'summary' | 'description'>,
  answers: ZodOpenApiOperationObject['responses'],
): ZodOpenApiOperationObject => ({
  ...operation,
  requestParams: { path: QuarantineParams },
  requestBody: { required: true, content: { 'application/json': { schema: ActionBody } } },
  responses: { ...answers, ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused') },
})

export const quarantinePaths: ZodOpenApiPathsObject = {
  '/quarantine': {
    get: {
      operationId: 'listQuarantine',
      summary: 'Records that a consumer could not apply, oldest first',
      description: 'Role operator. Without their bytes.',
      requestParams: { query: QuarantineQuery },
      responses: {
        '200': jsonAnswer('One page.', EntryPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/quarantine/{quarantineId}': {
    get: {
      operationId: 'getQuarantined',
      summary: 'One record, whole: key, value and headers as they lay in the topic',
      description: 'Role operator.',
      requestParams: { path: QuarantineParams },
      responses: {
        '200': jsonAnswer('The record.', WholeRecord, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/quarantine/{quarantineId}/redrive': {
    post: decision(
      {
        operationId: 'redriveQuarantined',
        summary: 'Try one record again',
        description:
          'Role operator. 202: recorded, and the projector tries it as soon as it can; while the registry or the database is away it stays redriving. The result stands in the action. 200: nothing to do, recorded too. 409: it is held, and is tried by itself.',
      },
      {
        '202': jsonAnswer('It will be tried again.', Decided, decidedHeaders),
        '200': jsonAnswer('Nothing was changed, and why.', Decided, decidedHeaders),
      },
    ),
  },
  '/quarantine/{quarantineId}/discard': {
    post: decision(
      {
        operationId: 'discardQuarantined',
        summary: 'Decide that one record is not wanted',
        description:
          'Role operator. It is kept for ever but never applied, and does not hold back later records of its note any more.',
      },
      { '200': jsonAnswer('It is discarded, or was settled before.', Decided, decidedHeaders) },
    ),
  },
}
