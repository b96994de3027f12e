import { z } from 'zod'
import { LIMITS } from '../../core/note.ts'

/** A revision in an address: plain digits, no sign, no leading zero. */
export const RevisionText = z
  .string()
  .regex(/^[1-9][0-9]{0,9}$/, 'must be a revision: 1, 2, 3 …')
  .transform(Number)
  .refine((revision) => revision <= LIMITS.maxRevision, `must be at most ${LIMITS.maxRevision}`)
  .meta({ description: 'A revision: 1, 2, 3 …', example: '1' })
