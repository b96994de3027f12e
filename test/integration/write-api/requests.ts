import { uniqueNoteId } from '../../support/notes.ts'

/** A command that is accepted as it is, for a note of its own. */
export const validCommand = () => ({
  noteId: uniqueNoteId(),
  revision: 1,
  title: 't',
  type: 'article',
  body: 'b',
})

/** What no answer may ever show: code positions, SQL, the driver. */
export const INTERNALS = /\bat .+:\d+:\d+|node_modules|\.ts\b|SELECT|INSERT|relation|pg_|ECONN|postgres/i
