import { ConnectClient, ConnectUnavailable } from '../../../core/connect-client.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { intentsWithoutRecord } from '../verify/missing-intents.ts'
import { type RecoveryPlan, SITUATIONS, STEPS } from './contract.ts'
import { auditHasRead, notBrought, readSkipped } from './missing.ts'
import { bringsNothing, type Plan, planOf } from './plan.ts'
import { readSlot } from './slot.ts'
import { type RecoveryParts, readEnds } from './steps.ts'
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
  const [connector, hasRead] = await Promise.all([connectorState(parts), auditHasReadNow(parts)])
  const unseen = await intentsWithoutRecord({ source: verifySource, projection: verifyProjection })
  const slot = await readSlot(source, relay.slotName)
  const newest = bringsNothing(slot) ? null : (slot.recorded?.incarnation ?? null)
  const missing = notBrought(unseen.keys, newest, await readSkipped(source))
  const plan = planOf({ slot, missing: missing.length, force })
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
      connector,
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

async function connectorState({ relay }: RecoveryParts): Promise<string> {
  try {
    const status = await new ConnectClient(relay.connectUrl, LIMIT_MS).status(relay.connector)
    if (!status) return 'not registered'
    const tasks = status.tasks.map(({ id, state }) => `task ${id} ${state}`)
    return [status.connector.state, ...tasks].join(', ')
  } catch (error) {
    if (error instanceof ConnectUnavailable) return 'unknown: Kafka Connect does not answer'
    throw error
  }
}

async function auditHasReadNow({ kafka, verifyProjection, logger }: RecoveryParts): Promise<boolean | null> {
  try {
    return await auditHasRead(verifyProjection, kafka.topic, await readEnds({ ...kafka, logger }))
  } catch (error) {
    if (error instanceof KafkaUnavailable) return null
    throw error
  }
}
