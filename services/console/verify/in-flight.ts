import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { Finding } from './compare.ts'

/** Behind this, what was committed must have been read by every consumer. */
export const SETTLE_LIMIT_MS = ALLOWED_DELAY_MS.commitToVisible

export type Sighting = {
  readonly finding: Finding
  /** Readings that showed it. */
  readonly looks: number
  /** From the first reading that showed it to the last one. */
  readonly seenForMs: number
  /** From the commit of what is awaited to the last reading; undefined when the source knows no commit time. */
  readonly lateForMs: number | undefined
}

/** The revision whose commit time says how late a finding is; undefined: no delivery can settle it. */
export function awaitedRevision(finding: Finding): number | undefined {
  switch (finding.kind) {
    case 'no-record':
      return finding.revision
    case 'catalog-missing':
    case 'catalog-behind':
      return finding.awaited
    case 'no-intent':
    case 'catalog-ahead':
    case 'content-differs':
    case 'record-unknown':
      return undefined
  }
}

/**
 * Whether a sighting is a difference, or may still be in flight. Pure.
 *
 * What is awaited may be late by the allowed delay. The rest cannot come from a delivery under way, but is
 * looked at twice: a transaction can be in the WAL, and its record with the consumers, a moment before other
 * sessions of the source see it.
 */
export function isDifference({ finding, looks, seenForMs, lateForMs }: Sighting): boolean {
  if (awaitedRevision(finding) === undefined) return looks >= 2
  return Math.max(seenForMs, lateForMs ?? 0) >= SETTLE_LIMIT_MS
}
