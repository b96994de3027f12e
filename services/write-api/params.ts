import { LIMITS } from '../../core/note.ts'
import { wholeNumber } from '../../core/whole-number.ts'

/** A revision in an address. */
export const RevisionText = wholeNumber(1, LIMITS.maxRevision).meta({
  description: 'A revision: 1, 2, 3 …',
  example: 1,
})
