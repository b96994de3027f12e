import type { Difference } from './contract.ts'
import { missingRecord } from './missing-record.ts'
import type { AuditReach, RelayReach } from './relay-reach.ts'
import type { Settled } from './settle.ts'
import type { Stray } from './strays.ts'

/** How far relay and audit were when the differences were looked at last. */
export type Reach = { readonly relay: RelayReach; readonly audit: AuditReach }

const NOTHING = {
  projectionRevision: null,
  eventId: null,
  because: null,
  sourceDigest: null,
  projectionDigest: null,
  committedAt: null,
} as const

/** How a difference is reported. Pure. @param reach where nobody asked, no intent lacks a record */
export function differenceOf({ finding, facts }: Settled, reach: Reach | undefined): Difference {
  const committedAt = facts?.committedAt?.toISOString() ?? null
  switch (finding.kind) {
    case 'no-intent': {
      const { kind, ...rest } = finding
      return { ...NOTHING, ...rest, class: 'note-only', because: kind }
    }
    case 'no-record': {
      const { noteId, revision, eventId } = finding
      const { relay, audit } = reach ?? { relay: { status: 'behind', incarnation: 0 }, audit: 'behind' }
      const meaning = missingRecord(facts?.incarnation ?? null, relay, audit)
      return { ...NOTHING, noteId, revision, eventId, committedAt, ...meaning }
    }
    case 'catalog-missing':
    case 'catalog-behind': {
      const { kind, awaited: _, ...rest } = finding
      return { ...NOTHING, ...rest, class: kind, committedAt }
    }
    case 'catalog-ahead':
    case 'content-differs': {
      const { kind, ...rest } = finding
      return { ...NOTHING, ...rest, class: kind }
    }
    case 'record-unknown': {
      const { kind, seenBy, ...rest } = finding
      const because = seenBy.length === 2 ? 'in-audit-and-catalog' : `in-${seenBy[0] ?? 'audit'}`
      return { ...NOTHING, ...rest, class: kind, because: because as Difference['because'] }
    }
  }
}

/** How a stray is reported. Pure. */
export function strayDifference({ kind, ...names }: Stray): Difference {
  return kind === 'no-content'
    ? { ...NOTHING, ...names, class: 'note-only', because: 'no-content' }
    : { ...NOTHING, ...names, class: 'record-unknown', because: 'in-audit' }
}

/** By note, revision, class and event: the same differences are listed in the same order each time. */
export function inOrder(a: Difference, b: Difference): number {
  return (
    compare(a.noteId ?? '', b.noteId ?? '') ||
    (a.revision ?? 0) - (b.revision ?? 0) ||
    compare(a.class, b.class) ||
    compare(a.eventId ?? '', b.eventId ?? '')
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
