import type { Difference, VerificationResult } from './http/verifications.ts'
import { printable } from './output.ts'

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

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

export function summaryLines(result: VerificationResult, noteId: string | undefined): string[] {
  const { compared, counts, inFlight, ranges, snapshots } = result
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  const total = found.reduce((sum, [, count]) => sum + count, 0)
  return [
    result.equal
      ? `Equal: ${noteId ?? 'source and projection'}.`
      : `${result.complete ? '' : 'More than '}${total} differences: ${found.map(([name, count]) => `${count} ${name}`).join(', ')}.`,
    `Compared ${compared.notes} notes, ${compared.revisions} revisions, ${compared.intents} intents and ${compared.recordedEvents} recorded events; opened ${ranges.opened} of ${ranges.all} ranges.`,
    `Took ${seconds(result.comparingMs)}, then waited ${seconds(result.waitedMs)} for what was in flight; ${inFlight} findings were gone then.`,
    `Source as of ${snapshots.source.at} (snapshot ${snapshots.source.snapshot}), projection as of ${snapshots.projection.at} (${snapshots.projection.snapshot}).`,
  ].map(printable)
}
