import { NOTE_ID_PATTERN } from '../../core/note.ts'
import { READ_LIMITS } from './limits.ts'

/** A place in the list order (revised_at desc, note_id desc): the last note of a page. */
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
  if (text.length > READ_LIMITS.cursorChars) return undefined
  const [, revisedAtMicros, noteId] = POSITION.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (revisedAtMicros === undefined || noteId === undefined || !NOTE_ID_PATTERN.test(noteId)) return undefined
  const position = { revisedAtMicros, noteId }
  // Node's decoder skips what is not base64url; only the exact text is taken.
  return encodeCursor(position) === text ? position : undefined
}
