import { z } from 'zod'
import type { ProblemCode } from '../../core/problem.ts'

/** Headers of every answer of this API that is not a problem. */
export const answerHeaders = z.object({
  'Cache-Control': z.string(),
  traceparent: z.string().meta({ description: 'W3C trace context of this request.' }),
})

/** Problems every route of this API can answer with. */
export const ROUTE_PROBLEMS = [
  'unauthenticated',
  'forbidden',
  'method-not-allowed',
  'too-many-requests',
  'unavailable',
] as const satisfies readonly ProblemCode[]

/** Besides, those of every action: a POST with a JSON body that holds a reason. */
export const ACTION_PROBLEMS = [
  ...ROUTE_PROBLEMS,
  'payload-too-large',
  'unsupported-media-type',
  'invalid-content',
] as const satisfies readonly ProblemCode[]

/** Answers of this API are about now and for one operator. */
export const CACHE_CONTROL = 'private, no-store'
