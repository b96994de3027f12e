import { parseDocument } from 'yaml'

/** Front matter longer than this is not read: YAML of any size would claim any time. */
const FRONT_MATTER_CHARS = 16_384

export type FrontMatter =
  | { readonly status: 'none' }
  /** It is meant as front matter, but what it says about the note cannot be known. */
  | { readonly status: 'unreadable'; readonly explanation: string }
  | {
      readonly status: 'present'
      readonly fields: Readonly<Record<string, unknown>>
      /** Index of the first character after the block. */
      readonly endsAt: number
    }

/** A line `name: value` or a flow mapping; without one, text between two `---` is prose between two rules. */
const FIELD = /^[ \t]*(?:\{|["']?[A-Za-z_][\w.-]*["']?[ \t]*:(?:\s|$))/m

/** In the first paragraph of a block that nothing closes: the closing line was forgotten. */
const STATES_VISIBILITY = /^["']?visibility["']?[ \t]*:/im

/**
 * The YAML block between `---` lines at the start of a Markdown text. A text that merely starts with a
 * thematic break has none. Aliases are refused: they let a small block claim much memory.
 */
export function readFrontMatter(text: string): FrontMatter {
  const opening = /^\uFEFF?---[ \t]*\r?\n/.exec(text)
  if (!opening) return { status: 'none' }
  const closing = /^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/gm
  closing.lastIndex = opening[0].length
  const found = closing.exec(text)
  if (!found) {
    return STATES_VISIBILITY.test(text.slice(opening[0].length).split(/\r?\n[ \t]*\r?\n/, 1)[0] ?? '')
      ? { status: 'unreadable', explanation: 'no line --- ends it' }
      : { status: 'none' }
  }
  const yaml = text.slice(opening[0].length, found.index)
  const endsAt = found.index + found[0].length
  const unreadable = (explanation: string): FrontMatter =>
    FIELD.test(yaml) ? { status: 'unreadable', explanation } : { status: 'none' }
  if (endsAt > FRONT_MATTER_CHARS) {
    return unreadable(`it has ${endsAt} characters, at most ${FRONT_MATTER_CHARS} are read`)
  }
  try {
    const document = parseDocument(yaml, { logLevel: 'silent', strict: true })
    const problem = document.errors[0]
    if (problem) return unreadable(firstLine(problem.message))
    const fields: unknown = document.toJS({ maxAliasCount: 0 })
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return { status: 'none' }
    return { status: 'present', fields: fields as Record<string, unknown>, endsAt }
  } catch (error) {
    return unreadable(firstLine((error as Error).message))
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? text
