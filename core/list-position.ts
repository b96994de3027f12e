import { NOTE_ID_PATTERN } from './note.ts'

/** Longest cursor of the public list that is looked at: a position needs far less. */
export const LIST_CURSOR_CHARS = 200

/** A place in the order of the public list (revised_at desc, note_id desc): the last note of a page. */
export type ListPosition = {
  /** Microseconds since 1970 UTC as decimal digits: PostgreSQL's own precision, without loss. */
  readonly revisedAtMicros: string
  readonly noteId: string
}

/** 17 digits reach the year 5138 and stay inside what PostgreSQL takes as timestamptz. */
const POSITION = /^(-?\d{1,17}) (.+)$/

export const encodeCursor = ({ revisedAtMicros, noteId }: ListPosition): string =>
  Buffer.from(`${revisedAtMicros} ${noteId}`).toString('base64url')

/** The position a cursor stands for, or undefined when `text` is not one that `encodeCursor` made. */
export function decodeCursor(text: string): ListPosition | undefined {
  if (text.length > LIST_CURSOR_CHARS) return undefined
  const [, revisedAtMicros, noteId] = POSITION.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (revisedAtMicros === undefined || noteId === undefined || !NOTE_ID_PATTERN.test(noteId)) return undefined
  const position = { revisedAtMicros, noteId }
  // Node's decoder skips what is not base64url; only the exact text is taken.
  return encodeCursor(position) === text ? position : undefined
}

const ID_CHARS_MAX = 64
/** Characters of a note id in byte order, the order of the list. */
const ORDER = '-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'

/**
 * The place right before a note: the page that begins there begins with that note, if it is in the list. No note
 * id lies between the two.
 */
export function positionBefore({ revisedAtMicros, noteId }: ListPosition): ListPosition {
  const next = nextId(noteId)
  return next === undefined
    ? { revisedAtMicros: String(BigInt(revisedAtMicros) + 1n), noteId: '0' }
    : { revisedAtMicros, noteId: next }
}

/** The smallest note id above this one; undefined when there is none. */
function nextId(noteId: string): string | undefined {
  if (noteId.length < ID_CHARS_MAX) return `${noteId}${ORDER[0]}`
  const kept = noteId.replace(/z+$/, '')
  const last = kept.at(-1)
  if (last === undefined) return undefined
  // No id begins with the character after Z.
  return kept === 'Z' ? 'a' : `${kept.slice(0, -1)}${ORDER[ORDER.indexOf(last) + 1]}`
}
