import { jsonBody } from '../../core/json-body.ts'
import { LIMITS } from '../../core/note.ts'

/**
 * Most bytes of JSON text a command may have: twice the note's body, since JSON writes newline, quote and
 * backslash as two bytes, and room for the other fields. So every note within its limits can be sent as
 * UTF-8; one written in \uXXXX escapes throughout (up to six bytes a character) may not fit.
 */
export const JSON_TEXT_BYTES = 2 * LIMITS.bodyBytes + 65_536

/** Admits the body of a command. */
export const commandBody = jsonBody(JSON_TEXT_BYTES)
