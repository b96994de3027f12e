import type { z } from 'zod'
import { Problem } from '../../core/problem.ts'

/** @throws Problem 400 naming every wrong path or query parameter. */
export function parseParameters<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: key, message: 'is not a parameter of this address' }))
      : [{ path: issue.path.join('.'), message: issue.message }],
  )
  throw new Problem(
    'malformed-request',
    `Nothing was looked up: ${errors.length === 1 ? 'a parameter is' : 'parameters are'} wrong. See errors, and /openapi.json for what is taken.`,
    { extra: { errors } },
  )
}
