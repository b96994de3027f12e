import { parseDocument } from 'yaml'

/** Front matter longer than this is taken as text. */
const FRONT_MATTER_CHARS = 16_384

export type FrontMatter =
  | { readonly status: 'none' }
  | { readonly status: 'unreadable'; readonly explanation: string; readonly endsAt: number }
  | {
      readonly status: 'present'
      readonly fields: Readonly<Record<string, unknown>>
      readonly endsAt: number
    }

/**
 * The YAML block between `---` lines at the start of a Markdown text. A text that merely starts with a
 * thematic break has none. Aliases are refused: they let a small block claim much memory.
 * `endsAt` is the index of the first character after the block.
 */
export function readFrontMatter(text: string): FrontMatter {
  const opening = /^\uFEFF?---[ \t]*\r?\n/.exec(text)
  if (!opening) return { status: 'none' }
  const closing = /^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/gm
  closing.lastIndex = opening[0].length
  const found = closing.exec(text.slice(0, FRONT_MATTER_CHARS))
  if (!found) return { status: 'none' }
  const yaml = text.slice(opening[0].length, found.index)
  const endsAt = found.index + found[0].length
  try {
    const document = parseDocument(yaml, { logLevel: 'silent', strict: true })
    const problem = document.errors[0]
    if (problem) return { status: 'unreadable', explanation: firstLine(problem.message), endsAt }
    const fields: unknown = document.toJS({ maxAliasCount: 0 })
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { status: 'none' }
    return {
      status: 'present',
      fields: fields as Record<string, unknown>,
      endsAt,
    }
  } catch (error) {
    return { status: 'unreadable', explanation: firstLine((error as Error).message), endsAt }
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? text
