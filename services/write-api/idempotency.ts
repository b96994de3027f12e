import { createHash } from 'node:crypto'
import { LIMITS, type SaveNoteCommand } from '../../core/note.ts'

const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${LIMITS.idempotencyKeyChars}}$`)

/** What the header may be, for the OpenAPI document: bare, or in quotes with \" and \\ as escapes. */
export const IDEMPOTENCY_KEY_HEADER = new RegExp(
  `^(?:[!#-~][!-~]{0,${LIMITS.idempotencyKeyChars - 1}}|"(?:[!#-\\[\\]-~]|\\\\["\\\\]){1,${LIMITS.idempotencyKeyChars}}")$`,
)

/**
 * The key of an Idempotency-Key header: bare, or quoted as a structured-field string (RFC 9651, 3.3.3),
 * so that `abc` and `"abc"` are the same key. 1 to 255 visible ASCII characters.
 * @returns undefined when it is not such a key. A header sent twice arrives joined by ", " and is none.
 */
export function parseIdempotencyKey(header: string): string | undefined {
  const key = header.startsWith('"') ? unquote(header) : header
  return key !== undefined && VISIBLE_ASCII.test(key) ? key : undefined
}

function unquote(header: string): string | undefined {
  const inner = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header)?.[1]
  return inner?.replaceAll(/\\(["\\])/g, '$1')
}

/**
 * SHA-256 over the parsed command: what a repeat under the same key must equal. Taken after parsing, so
 * neither the order of JSON keys, nor escapes, nor a default written out makes a difference.
 */
export function fingerprintOf(command: SaveNoteCommand): Buffer {
  const { noteId, revision, title, url, type, body, visibility } = command
  return createHash('sha256')
    .update(JSON.stringify(['save-note/1', noteId, revision, title, url, type, body, visibility]))
    .digest()
}
