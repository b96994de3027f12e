import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { ACTION_PROBLEMS, answerHeaders, ROUTE_PROBLEMS } from '../documented.ts'
import {
  DifferencePage,
  DifferencesQuery,
  Verification,
  VerificationBody,
  VerificationParams,
} from './contract.ts'

const MEANING =
  'Compares the rows themselves, without trusting a counter of either side: every canonical revision has an intent, every intent a record in audit, every note the same revision and content in the live catalog, and nothing is in the projection that the source does not have. What is only in flight is looked at again until it has arrived or is later than allowed.'

export const verifyPaths: ZodOpenApiPathsObject = {
  '/verifications': {
    post: {
      operationId: 'startVerification',
      summary: 'Compare source and projection',
      description: `Role operator. Changes nothing. ${MEANING}`,
      requestBody: { required: true, content: { 'application/json': { schema: VerificationBody } } },
      responses: {
        '202': jsonAnswer(
          'It is running; ask for it at Location.',
          Verification,
          answerHeaders.extend({ Location: z.string() }),
        ),
        ...problemAnswers(...ACTION_PROBLEMS),
      },
    },
  },
  '/verifications/{verificationId}': {
    get: {
      operationId: 'getVerification',
      summary: 'How a verification stands, and what it found',
      description: 'Role operator. Kept by the process that ran it, for the last few.',
      requestParams: { path: VerificationParams },
      responses: {
        '200': jsonAnswer('The verification.', Verification, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/verifications/{verificationId}/differences': {
    get: {
      operationId: 'listDifferences',
      summary: 'Exactly what differs, by note and revision',
      description: 'Role operator. Empty while it is running.',
      requestParams: { path: VerificationParams, query: DifferencesQuery },
      responses: {
        '200': jsonAnswer('One page.', DifferencePage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
