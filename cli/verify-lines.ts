import type { Difference, VerificationResult } from './http/verifications.ts'
import { counted, printable } from './output.ts'

/** `skipped  a-note:3  relay-passed  committed 2026-…`: class, key, and what is known. */
export function differenceLine(difference: Difference): string {
  const { noteId, revision, projectionRevision, eventId, because, committedAt } = difference
  const key = noteId === null ? '(no note)' : `${noteId}:${revision ?? '(none)'}`
  const facts = [
    because,
    projectionRevision === null ? null : `the catalog shows ${projectionRevision}`,
    eventId === null ? null : `event ${eventId}`,
    committedAt === null ? null : `committed ${committedAt}`,
  ]
  return printable([difference.class, key, ...facts.filter((fact) => fact !== null)].join('  '))
}

/** Nothing was there to be compared, on either side. */
export const knowsNothing = ({ equal, compared }: VerificationResult): boolean =>
  equal && Object.values(compared).every((count) => count === 0)

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

export function summaryLines(result: VerificationResult, noteId: string | undefined): string[] {
  const { compared, counts, inFlight, ranges, snapshots } = result
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  const total = found.reduce((sum, [, count]) => sum + count, 0)
  return [
    result.equal
      ? `Equal: ${noteId ?? 'source and projection'}.`
      : `${result.complete ? '' : 'More than '}${counted(total, 'difference')}: ${found.map(([name, count]) => `${count} ${name}`).join(', ')}.`,
    `Compared ${counted(compared.notes, 'note')}, ${counted(compared.revisions, 'revision')}, ${counted(compared.intents, 'intent')} and ${counted(compared.recordedEvents, 'recorded event')}; opened ${ranges.opened} of ${counted(ranges.all, 'range')}.`,
    `Took ${seconds(result.comparingMs)}, then waited ${seconds(result.waitedMs)} for what was in flight; ${counted(inFlight, 'finding was', 'findings were')} gone then.`,
    `Source as of ${snapshots.source.at} (snapshot ${snapshots.source.snapshot}), projection as of ${snapshots.projection.at} (${snapshots.projection.snapshot}).`,
  ].map(printable)
}
