import { z } from 'zod'

/**
 * A whole number in an address, from `min` (not below 0) to `max`: plain digits, no sign, no leading zero, so
 * that "1e2", " 7" or "7; DROP" are refused, not guessed. In the OpenAPI document it is an integer.
 */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^(?:0|[1-9][0-9]{0,14})$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
    .meta({
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern
        Object.assign(jsonSchema, { type: 'integer', minimum: min, maximum: max })
      },
    })
