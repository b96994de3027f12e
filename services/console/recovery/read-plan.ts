import { ConnectClient, type ConnectorStatus, ConnectUnavailable } from '../../../core/connect-client.ts'
import { hasSlotMismatch } from '../../../core/connector-failure.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { intentsWithoutRecord } from '../verify/missing-intents.ts'
import { type RecoveryPlan, SITUATIONS, STEPS } from './contract.ts'
import { auditHasRead, notBrought, readSkipped } from './missing.ts'
import { faultOf, type Plan, planOf } from './plan.ts'
import { readSlot } from './slot.ts'
import type { RecoveryParts } from './steps.ts'
import { readLatest, shown } from './store.ts'

const SHOWN_KEYS = 100
const LIMIT_MS = 3_000

/**
 * What would be done now, from what is there now.
 * @throws when a database is away
 */
export async function readPlan(
  parts: RecoveryParts,
  force: boolean,
): Promise<{ readonly plan: Plan; readonly shown: RecoveryPlan }> {
  const { source, verifySource, verifyProjection, relay } = parts
  const [connector, hasRead] = await Promise.all([connectorNow(parts), auditHasReadNow(parts)])
  const unseen = await intentsWithoutRecord({ source: verifySource, projection: verifyProjection })
  const slot = await readSlot(source, relay.slotName)
  const mismatch = connector.status !== undefined && hasSlotMismatch(connector.status)
  const newest = faultOf(slot, mismatch) ? null : (slot.recorded?.incarnation ?? null)
  const missing = notBrought(unseen.keys, newest, await readSkipped(source))
  const plan = planOf({ slot, mismatch, missing: missing.length, force })
  const latest = await readLatest(source, relay.slotName)
  const { exists, active, walStatus, confirmedLsn, recorded } = slot
  return {
    plan,
    shown: {
      situation: plan.situation,
      explanation: SITUATIONS[plan.situation],
      slot: {
        name: relay.slotName,
        exists,
        active,
        walStatus,
        confirmedLsn,
        incarnation: recorded?.incarnation ?? null,
      },
      connector: connector.text,
      missing: {
        count: missing.length,
        keys: missing
          .slice(0, SHOWN_KEYS)
          .map(({ noteId, revision, eventId }) => ({ noteId, revision, eventId })),
        auditHasRead: hasRead,
      },
      steps: plan.steps.map((step) => ({ step, what: STEPS[step] })),
      refused: plan.refused ?? null,
      recovery: latest ? shown(latest) : null,
    },
  }
}

type ConnectorNow = { readonly status: ConnectorStatus | undefined; readonly text: string }

async function connectorNow({ relay }: RecoveryParts): Promise<ConnectorNow> {
  try {
    const status = await new ConnectClient(relay.connectUrl, LIMIT_MS).status(relay.connector)
    if (!status) return { status, text: 'not registered' }
    const tasks = status.tasks.map(({ id, state }) => `task ${id} ${state}`)
    return { status, text: [status.connector.state, ...tasks].join(', ') }
  } catch (error) {
    if (!(error instanceof ConnectUnavailable)) throw error
    return { status: undefined, text: 'unknown: Kafka Connect does not answer' }
  }
}

async function auditHasReadNow({ kafka, verifyProjection }: RecoveryParts): Promise<boolean | null> {
  try {
    return await auditHasRead(verifyProjection, kafka.topic, await kafka.facts.state())
  } catch (error) {
    if (error instanceof KafkaUnavailable) return null
    throw error
  }
}
