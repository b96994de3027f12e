import type { ConnectorStatus } from '../../../core/connect-client.ts'
import { hasSlotMismatch } from '../../../core/connector-failure.ts'
import { SITUATIONS } from '../recovery/contract.ts'
import { faultOf, type SlotFacts } from '../recovery/plan.ts'
import { type ConsumerResult, REFUSALS, type Refusal, type Refused, type Result } from './contract.ts'

/** One revision that was asked for, as the source has it. */
export type Found = {
  readonly noteId: string
  readonly revision: number
  /** null: it has no intent. */
  readonly eventId: string | null
  readonly envelopeSha256: Buffer | null
  readonly prunedWhy: 'retention' | 'erased' | null
}

/** An intent that can be sent again, and the digest that its record must have. */
export type Replayable = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  readonly envelopeSha256: Buffer
}

/** What can be replayed among them, and what cannot and why. Pure; the order stays. */
export function split(found: readonly Found[]): {
  readonly replayable: readonly Replayable[]
  readonly refused: readonly Refused[]
} {
  const replayable: Replayable[] = []
  const refused: Refused[] = []
  for (const { noteId, revision, eventId, envelopeSha256, prunedWhy } of found) {
    if (eventId === null) refused.push(refusal(noteId, revision, 'note-only'))
    else if (prunedWhy === 'erased') refused.push(refusal(noteId, revision, 'erased'))
    else if (prunedWhy !== null || envelopeSha256 === null) refused.push(refusal(noteId, revision, 'pruned'))
    else replayable.push({ noteId, revision, eventId, envelopeSha256 })
  }
  return { replayable, refused }
}

export const refusal = (noteId: string, revision: number, why: Refusal): Refused => ({
  noteId,
  revision,
  why,
  explanation: REFUSALS[why],
})

export type RelayFacts = {
  readonly slot: SlotFacts
  /** undefined: Kafka Connect knows no such connector. */
  readonly connector: ConnectorStatus | undefined
}

/** What is in the way of a replay, by a stable name. */
export type NotReady = { readonly why: string; readonly explanation: string }

/** Why the relay cannot bring anything now; undefined: it can. Pure. */
export function relayNotReady({ slot, connector }: RelayFacts): NotReady | undefined {
  const fault = faultOf(slot, connector !== undefined && hasSlotMismatch(connector))
  if (fault) return { why: fault, explanation: `${SITUATIONS[fault]} Look with: bin/notesctl relay recover` }
  if (!connector) {
    return {
      why: 'connector-missing',
      explanation: 'Kafka Connect has no such connector. It is registered by: bin/up',
    }
  }
  const broken = [connector.connector, ...connector.tasks].find(({ state }) => state !== 'RUNNING')
  if (broken || connector.tasks.length === 0) {
    const state = broken?.state ?? 'without a task'
    return {
      why: 'connector-not-running',
      explanation: `The connector is ${state}. Look with: bin/notesctl relay status`,
    }
  }
  if (!slot.active) {
    return {
      why: 'slot-inactive',
      explanation: 'Nobody reads from the replication slot. Look with: bin/notesctl relay status',
    }
  }
  return undefined
}

/** What a projection has about the record of a replay, for one generation of catalog. */
export type RecordFacts = {
  /** Is the generation's progress past the record, in the same life of the topic? */
  readonly passed: boolean
  readonly irregular: 'ahead' | 'stale' | 'duplicate' | null
  readonly quarantine: { readonly state: string; readonly reason: string } | null
  readonly inInbox: boolean
}

/** What one generation of catalog did with a record. Pure. */
export function catalogResult({ passed, irregular, quarantine, inInbox }: RecordFacts): Result {
  if (quarantine) {
    if (quarantine.state === 'applied') return 'applied'
    if (quarantine.state === 'no-effect') return 'duplicate'
    if (quarantine.state === 'held') return 'held'
    return quarantine.reason === 'conflict' ? 'conflict' : 'quarantined'
  }
  if (irregular === 'duplicate' || irregular === 'stale') return irregular
  if (!passed) return 'not-seen'
  return inInbox ? 'applied' : 'unknown'
}

const EXPLANATIONS: Readonly<Record<Result, string>> = {
  applied: 'It took effect: it had not been applied before.',
  duplicate: 'The event had been applied before; nothing changed.',
  stale: 'A newer revision is there already; the event counts as applied and readers see no change.',
  conflict: 'Another event or other content is known for this revision; it lies in quarantine.',
  held: 'An earlier revision of the note is in quarantine; it waits behind that.',
  quarantined: 'It cannot be applied and lies in quarantine: bin/notesctl quarantine list',
  'not-seen': 'It has not been read so far.',
  unknown: 'It is not known what became of it.',
}

export const resultOf = (
  consumer: ConsumerResult['consumer'],
  generation: number,
  live: boolean,
  result: Result,
  explanation = EXPLANATIONS[result],
): ConsumerResult => ({ consumer, generation, live, result, explanation })
