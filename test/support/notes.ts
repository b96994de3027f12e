import { randomBytes } from 'node:crypto'

/** Tests share one lab: each works on notes of its own. */
export const uniqueNoteId = (prefix = 'test'): string => `${prefix}-${randomBytes(8).toString('hex')}`
