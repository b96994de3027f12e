import type { Request } from 'express'
import { z } from 'zod'
import { jsonBody, jsonOf } from '../../core/json-body.ts'
import { valid } from '../../core/validate.ts'

/** Most bytes of JSON text an action may have: a reason in escapes, and room for a handful of fields. */
export const ACTION_BYTES = 16_384
export const REASON_CHARS = 1_000

/** Admits the body of an action; comes after `admit`. */
export const actionBody = jsonBody(ACTION_BYTES)

/** Why an operator does it: kept with the action for ever, so U+0000 and lone surrogates are refused. */
export const Reason = z
  .string()
  .refine((text) => text.trim() !== '', 'must say something')
  .refine((text) => [...text].length <= REASON_CHARS, `must have at most ${REASON_CHARS} characters`)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must not hold U+0000 or lone surrogates')
  .meta({
    description: `Why, in your words; recorded with who. At most ${REASON_CHARS} characters.`,
    // What JSON Schema can say of the rules above.
    override: ({ jsonSchema }) =>
      void Object.assign(jsonSchema, {
        pattern: '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$',
        minLength: 1,
        maxLength: REASON_CHARS,
      }),
  })

/** What every action takes; `.extend` it for more. */
export const ActionBody = z.strictObject({ reason: Reason })

/** The action's body as `schema` has it. @throws Problem `invalid-content` (422) naming what is wrong */
export const actionOf = <T>(schema: z.ZodType<T>, req: Request): T =>
  valid(schema, jsonOf(req), 'invalid-content')
