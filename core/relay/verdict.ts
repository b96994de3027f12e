import { ALARMS, type AlarmCode, type Condition, type ConnectorAddress } from './alarms.ts'
import { conditionsOf } from './conditions.ts'
import { ageMs, lastRead, type RelayFacts } from './facts.ts'

export type RelayVerdict = AlarmCode | 'running'

export type Judgement = {
  readonly verdict: RelayVerdict
  /** What is known, for a person. */
  readonly reason: string
  /** What to do, in words; empty when nothing is wrong. */
  readonly hint: string
  /** What to run next, as a command; empty when nothing is wrong. */
  readonly run: string
  /** Everything that is not in order, the verdict first. */
  readonly conditions: readonly Condition[]
}

/**
 * One word for the state of the relay: the first of what is not in order. Pure. Faults that lose revisions
 * come before those that only delay, and a cause before what follows from it; a server that is away is named
 * as such. `running` only when every server was read.
 */
export function judgeRelay(facts: RelayFacts, address: ConnectorAddress): Judgement {
  const conditions = conditionsOf(facts)
  const [first] = conditions
  if (first) {
    const { hint, run } = ALARMS[first.code]
    return { verdict: first.code, reason: first.reason, hint, run: run(address), conditions }
  }
  const source = lastRead(facts.source)
  const until =
    source && facts.relayedUntil
      ? `until ${(ageMs(source, facts.relayedUntil) / 1_000).toFixed(1)} s ago `
      : ''
  return {
    verdict: 'running',
    reason: `Everything committed ${until}is in Kafka.`,
    hint: '',
    run: '',
    conditions,
  }
}
