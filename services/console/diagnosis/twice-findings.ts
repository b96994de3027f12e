import type { Publication } from '../publications/contract.ts'
import { keyOf } from './chain-facts.ts'
import type { Finding } from './contract.ts'
import type { Part } from './part.ts'
import type { RevisionReading } from './read-revision.ts'
import { RUNBOOK } from './symptoms.ts'

/** One revision that took effect twice, or one note with two rows: both applications are named. Pure. */
export function twiceFindings(chain: Publication, claims: Part<RevisionReading>): readonly Finding[] {
  if (claims.status === 'unknown') return []
  const { rows, applications, generation } = claims.value
  if (rows.length < 2 && applications.length < 2) return []
  const key = keyOf(chain)
  return [
    {
      symptom: 'visible-twice',
      cause: 'applied-twice',
      severity: 'critical',
      subject: key,
      summary: `${key} took effect more than once in the live catalog: ${rows.length} rows of the note, ${applications.length} applications of the revision.`,
      facts: [
        ...applications.map(({ eventId, appliedAt }) => ({
          text: `Generation ${generation} applied event ${eventId} for ${key} at ${appliedAt}.`,
          source: 'projection' as const,
          readAt: claims.readAt,
        })),
        ...rows.map(({ revision, eventId, appliedAt }) => ({
          text: `Generation ${generation} has a row of the note at revision ${revision}, event ${eventId}, applied ${appliedAt}.`,
          source: 'projection' as const,
          readAt: claims.readAt,
        })),
      ],
      assumptions: ['A unique constraint of the catalog was dropped: with it PostgreSQL refuses the second.'],
      check: 'Rows of the note and entries of the inbox for the revision, in the live generation.',
      owner: 'projection database',
      next: [
        { run: `bin/notesctl where ${key}`, why: 'Which event the intent has: the other one is a stranger.' },
        {
          run: 'bin/notesctl rebuild catalog --from source --dry-run',
          why: 'The confirmed way: with the constraint back, a new generation has each revision once.',
        },
      ],
      runbook: RUNBOOK['visible-twice'],
    },
  ]
}
