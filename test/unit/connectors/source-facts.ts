import { formatLsn } from '../../../core/lsn.ts'
import {
  parseLsn,
  type RecordedSlot,
  type Slot,
  type SlotHolder,
  type SourceFacts,
} from '../../../core/relay/slot.ts'

export const lsn = (value: number | bigint) => {
  const number = BigInt(value)
  return parseLsn(formatLsn(number))
}

/** The time of the source's clock in every reading made here. */
export const NOW = new Date('2026-01-01T12:00:00Z')
export const ago = (ms: number) => new Date(NOW.getTime() - ms)

export const HOLDER: SlotHolder = {
  id: '1/1/1',
  isConnector: true,
  userName: 'notes_debezium',
  applicationName: 'Debezium Streaming',
}
export const RECORDED: RecordedSlot = {
  incarnation: 1,
  identityLsn: '0/100',
  confirmedHolder: HOLDER.id,
  checkedLsn: null,
}

const slot: Slot = {
  active: true,
  walStatus: 'reserved',
  invalidationReason: null,
  identityLsn: '0/100',
  confirmedFlushLsn: lsn(900),
  lagBytes: 100,
  retainedWalBytes: 200,
  safeWalBytes: 10_000,
}

/** A relay in good order, changed as a test needs it. `slot: null` is a slot that does not exist. */
export function sourceFacts(
  changes: Partial<Omit<SourceFacts, 'slot'>> & { slot?: Partial<Slot> | null } = {},
): SourceFacts {
  return {
    sourceTime: NOW,
    snapshot: '10:10:',
    walInsertLsn: lsn(1_000),
    heartbeat: { id: 1n, at: ago(500) },
    holder: HOLDER,
    recorded: RECORDED,
    open: { skippedNow: false, skipped: false, unsettled: false },
    walKeepLimitBytes: 1_048_576,
    ...changes,
    slot: changes.slot === null ? null : { ...slot, ...changes.slot },
  }
}
