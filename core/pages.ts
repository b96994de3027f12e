import { z } from 'zod'
import { wholeNumber } from './whole-number.ts'

const CURSOR_CHARS = 400

/** An opaque text for a place in a list: the values of its order, of the last entry of a page. */
export const encodeCursor = (position: readonly string[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** Query parameter `after`: a cursor as `encodeCursor` made it, with the values that `shape` describes. */
export const cursorParameter = <T extends readonly string[]>(shape: z.ZodType<T>) =>
  z
    .string()
    .max(CURSOR_CHARS)
    .transform((text, context): T => {
      const position = shape.safeParse(parseJson(Buffer.from(text, 'base64url').toString()))
      // Node's decoder skips what is not base64url; only the exact text is taken.
      if (position.success && encodeCursor(position.data) === text) return position.data
      context.issues.push({ code: 'custom', input: text, message: 'is not a cursor of this list' })
      return z.NEVER
    })
    .meta({ description: 'Where the page begins, from `next` of the one before.' })

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Query parameter `limit`: entries of one page. */
export const limitParameter = (byDefault: number, most: number) =>
  wholeNumber(1, most).default(byDefault).meta({ description: 'Entries a page.', example: byDefault })

/** The address of the next page: the same question, further on. */
export function nextPage(
  path: string,
  query: Readonly<Record<string, unknown>>,
  position: readonly string[],
): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && name !== 'after') parameters.set(name, String(value))
  }
  parameters.set('after', encodeCursor(position))
  return `${path}?${parameters}`
}
