import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { Publication } from '../publications/contract.ts'
import { BECAUSE } from '../publications/vocabulary.ts'
import { catalogFacts, commitFacts, factOf, keyOf, recordFacts } from './chain-facts.ts'
import type { Fact, Finding, Step } from './contract.ts'
import { isErased } from './source-findings.ts'
import { RUNBOOK, seconds } from './symptoms.ts'

/** Nothing that runs by itself brings it any more. */
const NEEDS_REPLAY: ReadonlySet<string> = new Set([
  'skipped',
  'no-slot-at-commit',
  'other-incarnation',
  'slot-missing',
  'slot-foreign',
  'slot-lost',
])

const MAX_INCIDENTS = 5

/**
 * An intent of which nothing proves that the broker has it: within what is allowed it is only on its way.
 * @param pipeline findings about the whole; those about the relay are its cause
 */
export function pendingFindings(chain: Publication, pipeline: readonly Finding[]): readonly Finding[] {
  if (chain.state !== 'intent-pending') return []
  const key = keyOf(chain)
  const cause = causeIn(pipeline)
  const isOnItsWay = chain.isLate === false && !NEEDS_REPLAY.has(chain.because ?? '')
  const because = chain.because ? `${BECAUSE[chain.because]}.` : ''
  return [
    {
      symptom: 'intent-pending',
      cause: isOnItsWay ? (chain.because ?? 'unknown') : causeOf(chain, cause),
      severity: isOnItsWay ? 'note' : chain.because === 'skipped' ? 'critical' : 'warning',
      subject: key,
      summary: isOnItsWay
        ? `${key} is on its way: committed within the allowed ${seconds(ALLOWED_DELAY_MS.commitToBroker / 1_000)}, not yet known to be in Kafka.`
        : `${key} is committed, and nothing proves that Kafka has it: ${cause?.summary ?? because} It is not lost: the source keeps it.`,
      facts: [
        ...commitFacts(chain),
        ...factOf(chain.relay.evidence, ({ explanation }) => explanation),
        ...factOf(chain.relay.slot, (slot) =>
          slot.confirmedAt
            ? `Last activity: the slot was last seen to move on at ${slot.confirmedAt}, to ${slot.confirmedLsn}.`
            : 'The slot was never seen to confirm anything.',
        ),
        ...incidentFacts(chain),
        // Its history since the commit stands above.
        ...((isOnItsWay ? undefined : cause)?.facts.filter(
          ({ text }, index) => index === 0 || text.startsWith('Error text'),
        ) ?? []),
      ],
      assumptions: cause && !isOnItsWay ? [`What holds up the relay holds up this one: ${cause.cause}.`] : [],
      check:
        'Rows of every consumer for the event id, then the slot that was there at the commit; the relay from all sides.',
      owner: cause && !isOnItsWay && !isRelayCause(cause) ? cause.owner : 'relay',
      next: isOnItsWay
        ? [{ run: `bin/notesctl watch ${key}`, why: 'Follows it to the readers.' }]
        : stepsFor(chain, key, cause),
      runbook: RUNBOOK['intent-pending'],
    },
  ]
}

/** A slot that is gone is the cause whatever else is wrong. */
const causeOf = ({ because }: Publication, cause: Finding | undefined): string =>
  (because !== null && NEEDS_REPLAY.has(because) ? because : (cause?.cause ?? because)) ?? 'unknown'

/** What holds the relay up; else who would have to read the topic, so that anybody knows, and does not. */
function causeIn(pipeline: readonly Finding[]): Finding | undefined {
  const relay = pipeline.filter(isRelayCause)
  const audit = pipeline.find(
    ({ symptom, subject }) => symptom === 'relayed-not-applied' && subject === 'audit',
  )
  return relay.find(({ cause }) => !FOR_WANT_OF_PROOF.has(cause)) ?? audit ?? relay[0]
}

/** Alarms that say no more than that nothing is proven. */
const FOR_WANT_OF_PROOF: ReadonlySet<string> = new Set(['unchecked', 'watermark-old', 'behind'])

const isRelayCause = ({ symptom, cause }: Finding): boolean =>
  (symptom === 'relay-not-in-order' && cause !== 'watcher-silent') ||
  (symptom === 'part-away' && RELAY_PARTS.has(cause))
const RELAY_PARTS: ReadonlySet<string> = new Set([
  'connect-unreachable',
  'kafka-unreachable',
  'source-unreachable',
])

function stepsFor(chain: Publication, key: string, cause: Finding | undefined): Step[] {
  const replay: Step = {
    run: `bin/notesctl replay ${key} --reason TEXT`,
    why: 'Only when the cause is gone and it has not come: sends this one again, with its event id. Never a new revision.',
  }
  if (NEEDS_REPLAY.has(chain.because ?? '')) {
    const recover = {
      run: 'bin/notesctl relay recover',
      why: 'Shows what no record is there of, and what would be done; changes nothing without --execute.',
    }
    return chain.because === 'skipped' || chain.because === 'other-incarnation'
      ? [recover, replay]
      : [recover]
  }
  const first = cause?.next[0] ?? {
    run: 'bin/notesctl relay status',
    why: 'The lag falls while the relay works through a backlog.',
  }
  return [first, replay]
}

/** What was not in order since the commit: from when to when, error texts, what was tried. */
function incidentFacts({ relay }: Publication): readonly Fact[] {
  if (!('value' in relay.incidents)) return []
  const { value, readAt } = relay.incidents
  return value.slice(-MAX_INCIDENTS).map((incident) => ({
    text: `Since the commit: ${incident.alarm} from ${incident.openedAt} ${incident.closedAt ? `to ${incident.closedAt}` : 'on, still'}${incident.restarts > 0 ? `, ${incident.restarts} restarts tried` : ''}: ${incident.lastText}`,
    source: 'projection',
    readAt,
  }))
}

/** Readers were taken past it, and no consumer has a record of it. Pure. */
export function neverSeenFindings(chain: Publication): readonly Finding[] {
  if (chain.state !== 'superseded' || chain.because !== 'never-seen') return []
  // Nothing can bring it any more, nor should.
  if (isErased(chain)) return []
  const key = keyOf(chain)
  return [
    {
      symptom: 'revision-never-seen',
      cause: 'never-seen',
      severity: 'critical',
      subject: key,
      summary: `Readers were taken past ${key}: the live catalog has a newer revision, and no consumer has a record of this one.`,
      facts: [
        ...commitFacts(chain),
        ...recordFacts(chain),
        ...catalogFacts(chain),
        ...factOf(chain.relay.evidence, ({ explanation }) => explanation),
      ],
      assumptions: ['The relay went past it, or its record was removed from the topic before it was read.'],
      check: 'Rows of every consumer for the event id, against the revision that the catalog shows.',
      owner: 'relay',
      next: [
        {
          run: 'bin/notesctl relay recover',
          why: 'Shows whether others are missing too; replays all of them.',
        },
        {
          run: `bin/notesctl replay ${key} --reason TEXT`,
          why: 'Only this one: it is noted, closes its gap, and changes nothing that readers see.',
        },
        {
          run: `bin/notesctl gaps close ${key} --reason TEXT`,
          why: 'When nothing can bring it any more: a person accepts that it is missing.',
        },
      ],
      runbook: RUNBOOK['revision-never-seen'],
    },
  ]
}
