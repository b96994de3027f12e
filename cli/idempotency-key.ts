/**
 * Keys are derived from what they stand for, so that a repeated or resumed run sends the same key and
 * the write API answers with the original 202 instead of writing again. At most 255 visible ASCII characters.
 */

/** One content as one revision of one note. `digest`: 32 hex digits. */
export const keyForContent = (noteId: string, revision: number, digest: string): string =>
  `content:${noteId}:${revision}:${digest}`

/** What a commit did to a path; the note id stands for source and path. */
export const keyForCommit = (commit: string, noteId: string): string => `git:${commit}:${noteId}`
