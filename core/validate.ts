import type { z } from 'zod'
import { Problem } from './problem.ts'

/** What an answer lists of a wrong request; the request itself is bounded, its echo is bounded more. */
const SHOWN = { errors: 20, messageChars: 300, names: 5, nameChars: 64 } as const

type FieldError = { readonly path: string; readonly message: string }

/**
 * Parses the part of a request that `schema` describes.
 * @throws Problem `code` naming every wrong field.
 */
export function valid<T>(
  schema: z.ZodType<T>,
  value: unknown,
  code: 'malformed-request' | 'invalid-content' = 'malformed-request',
): T {
  const parsed = schema.safeParse(value, {
    error: (issue) =>
      issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : undefined,
  })
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.slice(0, SHOWN.errors).map(fieldError)
  const detail = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new Problem(code, `${detail}.`, { extra: { errors } })
}

function fieldError(issue: z.core.$ZodIssue): FieldError {
  const path = issue.path.map(String).join('.')
  if (issue.code !== 'unrecognized_keys') return { path, message: issue.message.slice(0, SHOWN.messageChars) }
  const names = issue.keys.slice(0, SHOWN.names).map((name) => JSON.stringify(name.slice(0, SHOWN.nameChars)))
  const more = issue.keys.length > SHOWN.names ? ` and ${issue.keys.length - SHOWN.names} more` : ''
  return { path, message: `unknown members: ${names.join(', ')}${more}` }
}
