import type { AuditReach, RelayReach } from './relay-reach.ts'

export type MissingRecord =
  /** The relay may still bring it, or audit may still read it. */
  | {
      readonly class: 'intent-pending'
      readonly because: 'relay-behind' | 'audit-behind' | 'topic-unreadable'
    }
  /** Nothing that runs by itself will bring it: it has to be replayed. */
  | {
      readonly class: 'skipped'
      readonly because:
        | 'no-slot-at-commit'
        | 'older-incarnation'
        | 'relay-passed'
        | 'slot-missing'
        | 'slot-lost'
        | 'slot-foreign'
        | 'slot-mismatch'
    }

/**
 * What it means that an intent, older than the allowed delay, has no record. Pure. Said to be skipped only
 * when the relay cannot bring it any more and audit has read everything that the relay had brought by then.
 */
export function missingRecord(
  /** The slot incarnation that existed at the commit; null: none did. */
  incarnation: number | null,
  relay: RelayReach,
  audit: AuditReach,
): MissingRecord {
  const because = whyItCannotCome(incarnation, relay)
  if (because === undefined) return { class: 'intent-pending', because: 'relay-behind' }
  switch (audit) {
    case 'passed':
      return { class: 'skipped', because }
    case 'behind':
      return { class: 'intent-pending', because: 'audit-behind' }
    case 'topic-unreadable':
      return { class: 'intent-pending', because: 'topic-unreadable' }
  }
}

function whyItCannotCome(
  incarnation: number | null,
  relay: RelayReach,
): Extract<MissingRecord, { class: 'skipped' }>['because'] | undefined {
  if (incarnation === null) return 'no-slot-at-commit'
  switch (relay.status) {
    case 'slot-missing':
    case 'slot-lost':
    case 'slot-foreign':
    case 'slot-mismatch':
      return relay.status
    case 'passed':
      return incarnation < relay.incarnation ? 'older-incarnation' : 'relay-passed'
    case 'behind':
      return incarnation < relay.incarnation ? 'older-incarnation' : undefined
  }
}
