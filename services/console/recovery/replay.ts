import { setTimeout as sleep } from 'node:timers/promises'
import { inTransaction, type Pool } from '../../../core/database.ts'
import { hasPassed, requestBatch, walPosition } from '../replay/signal.ts'
import type { ReplaySpans } from '../replay/spans.ts'
import type { Key } from './contract.ts'
import { type Digests, readReplayable, readSeen } from './missing.ts'
import { addReplayed } from './store.ts'

/** Revisions that one signal replays. Their order in a batch is Debezium's: by note, then revision. */
export const BATCH = 2_000
const LOOK_EVERY_MS = 500
/** A slot that is lost, or moved, meanwhile never brings the rest; neither does anything bring what was erased. */
const FIT_EVERY_MS = 3_000
/** Without a new record for so long, and with the signal read by the relay, it is sent again. */
const STALLED_MS = 60_000

export type Replayer = {
  readonly source: Pool
  readonly projection: Pool
  readonly topic: string
  readonly slotName: string
  readonly signal: AbortSignal
  readonly spans: ReplaySpans
  /** Told why nothing comes at present. */
  readonly onWaiting: (why: string) => Promise<void>
  /** Told of revisions that are not waited for any more: their envelope was erased, or pruned, meanwhile. */
  readonly onGone: (keys: readonly Key[]) => void
  /** May records still come through this slot? */
  readonly isSlotFit: () => Promise<boolean>
}

/**
 * Asks the relay for one batch and waits until a consumer has seen a record of each that can still be sent.
 * @returns false when the slot will not bring them
 */
export async function replayBatch(
  replayer: Replayer,
  recoveryId: string,
  keys: readonly Key[],
  digests: Digests,
): Promise<boolean> {
  const { source, projection, topic, slotName, signal } = replayer
  let open = keys
  let signalLsn = await request(source, recoveryId, open)
  const sinceMs = Date.now()
  let changedAtMs = performance.now()
  let fitSeenAtMs = changedAtMs
  while (open.length > 0) {
    signal.throwIfAborted()
    await sleep(LOOK_EVERY_MS, undefined, { signal })
    const wanted = open.flatMap(({ eventId }): [string, Buffer][] => {
      const digest = digests.get(eventId)
      return digest ? [[eventId, digest]] : []
    })
    const seen = await readSeen(projection, topic, new Map(wanted))
    if (seen.size > 0) {
      const replayed = open.filter(({ eventId }) => seen.has(eventId))
      open = open.filter(({ eventId }) => !seen.has(eventId))
      await addReplayed(source, recoveryId, seen.size)
      await replayer.spans.seen(recoveryId, replayed, sinceMs)
      changedAtMs = performance.now()
    } else if (performance.now() - changedAtMs > STALLED_MS) {
      if (await hasPassed(source, slotName, signalLsn)) signalLsn = await request(source, recoveryId, open)
      await replayer.onWaiting(`The records of ${open.length} replayed revisions have not been seen yet.`)
      changedAtMs = performance.now()
    }
    if (performance.now() - fitSeenAtMs > FIT_EVERY_MS) {
      if (!(await replayer.isSlotFit())) return false
      open = await withoutGone(replayer, open)
      fitSeenAtMs = performance.now()
    }
  }
  return true
}

/** Those whose envelope is still there. Of the others no record comes, however long one waits. */
async function withoutGone({ source, onGone }: Replayer, open: readonly Key[]): Promise<readonly Key[]> {
  const there = await readReplayable(source, open)
  const gone = open.filter(({ eventId }) => !there.has(eventId))
  if (gone.length > 0) onGone(gone)
  return open.filter(({ eventId }) => there.has(eventId))
}

/** @returns a WAL position that the signal's commit is not after */
async function request(source: Pool, recovery: string, keys: readonly Key[]): Promise<string> {
  await inTransaction(source, (client) => requestBatch(client, { recovery }, keys))
  return walPosition(source)
}
