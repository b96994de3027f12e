import { ConnectClient } from '../../../core/connect-client.ts'
import type { ConsoleParts } from '../parts.ts'
import { ReplaySpans } from '../replay/spans.ts'
import { readSlotMismatch } from '../slot-mismatch.ts'
import { intentsWithoutRecord } from '../verify/missing-intents.ts'
import type { Key, StepName } from './contract.ts'
import { auditHasRead, notBrought, readReplayable, readSkipped } from './missing.ts'
import { setBack } from './plan.ts'
import { BATCH, replayBatch } from './replay.ts'
import { makeSlot, readerOf, readSlot, recordSlot } from './slot.ts'
import { finish, noteWaiting, type Stored } from './store.ts'

/** The step cannot be done yet; the message says why, for a person. It is tried again. */
export class StepWaits extends Error {
  override name = 'StepWaits'
}

export type RecoveryParts = Pick<
  ConsoleParts,
  'source' | 'verifySource' | 'verifyProjection' | 'recoverSource' | 'kafka' | 'relay' | 'logger' | 'tracer'
>

/** done: the next step is due. again: look at this step anew. finished: there is nothing left to do. */
export type StepResult = 'done' | 'again' | 'finished'

const LIMIT_MS = 5_000

const connectOf = ({ relay }: RecoveryParts) => new ConnectClient(relay.connectUrl, LIMIT_MS)

/**
 * Does one step of a recovery. Each looks at what is there and does what is missing, so that it can be cut off
 * anywhere and done again.
 * @throws StepWaits, ConnectUnavailable, ConnectRefused, KafkaUnavailable or a database's error
 */
export const STEP_WORK: Readonly<
  Record<StepName, (parts: RecoveryParts, recovery: Stored, signal: AbortSignal) => Promise<StepResult>>
> = {
  'stop-connector': async (parts) => {
    await stopConnector(parts)
    return 'done'
  },
  'make-slot': async (parts, recovery) => {
    const { recoverSource, relay } = parts
    if (recovery.incarnation !== null) return 'done'
    await stopConnector(parts)
    await makeSlot(recoverSource, relay.slotName)
    await recordSlot(recoverSource, recovery.id, relay.slotName, `recovery: ${recovery.reason}`)
    return 'done'
  },
  'reset-offsets': async (parts) => {
    await stopConnector(parts)
    await connectOf(parts).deleteOffsets(parts.relay.connector)
    return 'done'
  },
  'resume-connector': async (parts) => {
    await resumeConnector(parts)
    return 'done'
  },
  replay,
}

/** Stops the connector and waits until it has let go of the slot. One that is not registered is stopped. */
async function stopConnector(parts: RecoveryParts): Promise<void> {
  const { source, relay } = parts
  const connect = connectOf(parts)
  const before = await connect.status(relay.connector)
  if (before && before.connector.state !== 'STOPPED') await connect.stop(relay.connector)
  const now = await connect.status(relay.connector)
  if (now && (now.connector.state !== 'STOPPED' || now.tasks.length > 0))
    throw new StepWaits(`The connector is ${now.connector.state} and has to stop first.`)
  const reader = await readerOf(source, relay.slotName)
  if (reader) throw new StepWaits(`The slot is still read by ${reader}; that has to end first.`)
}

async function resumeConnector(parts: RecoveryParts): Promise<void> {
  const { source, relay } = parts
  const connect = connectOf(parts)
  const status = await connect.status(relay.connector)
  if (!status) throw new StepWaits('Kafka Connect has no such connector; bin/up registers it.')
  const { state } = status.connector
  if (state === 'STOPPED' || state === 'PAUSED') await connect.resume(relay.connector)
  const notRunning = [status.connector, ...status.tasks].find((part) => part.state !== 'RUNNING')
  if (notRunning || status.tasks.length === 0)
    throw new StepWaits(`The connector is not running yet (${notRunning?.state ?? 'it has no task'}).`)
  const slot = await readSlot(source, relay.slotName)
  if (!slot.active) throw new StepWaits('The connector does not read the slot yet.')
}

async function replay(parts: RecoveryParts, recovery: Stored, signal: AbortSignal): Promise<StepResult> {
  const { source, verifyProjection: projection, relay, logger } = parts
  if (!(await auditIsThrough(parts)))
    throw new StepWaits(
      'The audit consumer has not read the topic to its end yet; what is missing is known only then. If this stays: bin/notesctl positions list',
    )
  const missing = await findMissing(parts)
  const replayable = await readReplayable(source, missing)
  const keys = missing.filter(({ eventId }) => replayable.has(eventId))
  if (keys.length === 0) {
    await finish(source, recovery, { notReplayable: missing.length, notReplayableKeys: namesOf(missing) })
    return 'finished'
  }
  logger.info({ recovery: recovery.id, count: keys.length }, 'replaying what has no record')
  const onWaiting = (why: string) => noteWaiting(source, recovery.id, why)
  const onGone = (gone: readonly Key[]) =>
    logger.warn(
      { recovery: recovery.id, count: gone.length, keys: namesOf(gone) },
      'erased or pruned while they were being replayed: not waited for any more',
    )
  const isSlotFit = async () => (await stepInsteadOf(parts, recovery)) === undefined
  const { topic } = parts.kafka
  const spans = new ReplaySpans(parts.tracer, source, topic, logger)
  const slotName = relay.slotName
  const replayer = { source, projection, topic, slotName, signal, spans, onWaiting, onGone, isSlotFit }
  for (let at = 0; at < keys.length; at += BATCH) {
    if (!(await replayBatch(replayer, recovery.id, keys.slice(at, at + BATCH), replayable))) break
  }
  return 'again'
}

const namesOf = (keys: readonly Key[]) =>
  keys.slice(0, 100).map(({ noteId, revision }) => `${noteId}:${revision}`)

/** What the slot that is there now will not bring. @throws when a database is away */
async function findMissing({ source, verifySource, verifyProjection, relay }: RecoveryParts) {
  const unseen = await intentsWithoutRecord({ source: verifySource, projection: verifyProjection })
  const { recorded } = await readSlot(source, relay.slotName)
  return notBrought(unseen.keys, recorded?.incarnation ?? null, await readSkipped(source))
}

async function auditIsThrough({ kafka, verifyProjection }: RecoveryParts): Promise<boolean> {
  return auditHasRead(verifyProjection, kafka.topic, await kafka.facts.state())
}

/**
 * The step to go back to when the slot that this recovery works with is gone, another one, or past what the
 * connector has read: nothing more comes through it, however long one waits. undefined: it is in order.
 * @throws when the source is away
 */
export async function stepInsteadOf(parts: RecoveryParts, { step }: Stored): Promise<StepName | undefined> {
  const [slot, mismatch] = await Promise.all([
    readSlot(parts.source, parts.relay.slotName),
    readSlotMismatch(parts.relay),
  ])
  return setBack(step, slot, mismatch)
}
