import { ALARMS, type AlarmCode, type ConnectorAddress } from '../../../core/relay/alarms.ts'
import type { FactSource, Finding } from './contract.ts'
import type { Part } from './part.ts'
import type { OpenIncident, WatcherReading } from './read-projection.ts'
import type { RelayReading } from './read-relay.ts'
import { RUNBOOK, seconds } from './symptoms.ts'

/** Without a word of the watcher for longer than this, its journal says nothing about now: it writes every 15 s. */
export const WATCHER_SILENT_SECONDS = 45

const SOURCE_OF_CHECK: Readonly<Record<(typeof ALARMS)[AlarmCode]['check'], FactSource>> = {
  source: 'source',
  projection: 'projection',
  kafka: 'kafka',
  connect: 'connect',
  connector: 'connect',
  slot: 'source',
  wal: 'source',
  heartbeat: 'source',
  flow: 'source',
  topic: 'kafka',
  records: 'source',
  watermark: 'projection',
}

/** Sections of the runbook that are about one alarm alone. */
const OWN_SECTION: Partial<Record<AlarmCode, string>> = {
  'slot-unrecorded': 'The slot is gone',
  'slot-missing': 'The slot is gone',
  'slot-lost': 'The slot is gone',
  'slot-foreign': 'The slot is gone',
  'slot-mismatch': 'The slot is gone',
  'relay-skipped': 'The slot is gone',
}

/** Conditions that only say that a server was not reached: what it knows is unknown. */
export const isAway = (code: string): boolean => code.endsWith('-unreachable')

/**
 * What is not in order with the relay, a cause before what follows from it: what one look shows, and what the
 * watcher's journal says besides, because only who looks again and again can know it. Pure.
 */
export function relayFindings(
  relay: RelayReading,
  watcher: Part<WatcherReading>,
  address: ConnectorAddress,
): readonly Finding[] {
  const journal = watcher.status === 'read' ? watcher : undefined
  const isSilent = journal !== undefined && isWatcherSilent(journal.value)
  const incidents = journal && !isSilent ? journal.value.incidents : []
  const own = relay.conditions.map(({ code, reason, error }) =>
    finding(code, reason, address, {
      facts: [
        { text: reason, source: SOURCE_OF_CHECK[ALARMS[code].check], readAt: relay.readAt },
        ...(error && error !== reason
          ? [{ text: `Error text: ${error}`, source: 'connect' as const, readAt: relay.readAt }]
          : []),
        ...incidents
          .filter(({ alarm }) => alarm === code)
          .map((incident) => ({
            text: historyOf(incident),
            source: 'projection' as const,
            readAt: journal?.readAt ?? relay.readAt,
          })),
      ],
      assumptions: [],
    }),
  )
  const seen = new Set<string>(relay.conditions.map(({ code }) => code))
  const journaled = incidents.flatMap((incident) =>
    isCode(incident.alarm) && !seen.has(incident.alarm)
      ? [
          finding(incident.alarm, incident.text, address, {
            facts: [{ text: historyOf(incident), source: 'projection', readAt: journal?.readAt ?? '' }],
            assumptions: ['What the watcher saw last, at most some seconds ago, still holds.'],
          }),
        ]
      : [],
  )
  const silent = isSilent && journal ? [watcherSilent(journal.value, journal.readAt)] : []
  return [...withConsequences([...own, ...journaled]), ...silent]
}

/** What stands still because something else does, in the order of the alarms. */
const CONSEQUENCES: ReadonlySet<string> = new Set([
  'slot-inactive',
  'task-idle',
  'heartbeat-still',
  'behind',
  'watermark-old',
  'unchecked',
] satisfies AlarmCode[])

/** A cause with what follows from it as its facts; what has no cause among them stands for itself. */
function withConsequences(findings: readonly Finding[]): readonly Finding[] {
  const causes = findings.filter(({ cause }) => !CONSEQUENCES.has(cause))
  const [first, ...others] = causes
  if (!first) return findings
  const follows = findings.filter(({ cause }) => CONSEQUENCES.has(cause))
  const facts = follows.flatMap(({ cause, facts: [fact] }) =>
    fact ? [{ ...fact, text: `So also ${cause}: ${fact.text}` }] : [],
  )
  const assumptions =
    follows.length > 0
      ? [
          `${follows.map(({ cause }) => cause).join(', ')} ${follows.length === 1 ? 'follows' : 'follow'} from it.`,
        ]
      : []
  return [
    { ...first, facts: [...first.facts, ...facts], assumptions: [...first.assumptions, ...assumptions] },
    ...others,
  ]
}

const isCode = (text: string): text is AlarmCode => text in ALARMS

const isWatcherSilent = ({ seenSecondsAgo }: WatcherReading): boolean =>
  seenSecondsAgo === null || seenSecondsAgo > WATCHER_SILENT_SECONDS

/** Since when, and what was tried. */
function historyOf({ openedAt, text, restarts, occurrences }: OpenIncident): string {
  const tried = restarts > 0 ? `, ${restarts} restarts tried` : ''
  const again = occurrences > 1 ? `, ${occurrences} times` : ''
  return `The watcher's journal: since ${openedAt}${again}${tried}. It says: ${text}`
}

function finding(
  code: AlarmCode,
  reason: string,
  address: ConnectorAddress,
  { facts, assumptions }: Pick<Finding, 'facts' | 'assumptions'>,
): Finding {
  const { owner, severity, hint, run } = ALARMS[code]
  const symptom = isAway(code) ? 'part-away' : 'relay-not-in-order'
  return {
    symptom,
    cause: code,
    severity,
    subject: null,
    summary: reason,
    facts,
    assumptions,
    check: isAway(code)
      ? 'It was asked, and gave no answer.'
      : 'Slot, connector and tasks, topic, heartbeat and what is known to be confirmed, each against its limit.',
    owner,
    next: [{ run: run(address), why: hint }],
    runbook: OWN_SECTION[code] ?? RUNBOOK[symptom],
  }
}

function watcherSilent({ seenSecondsAgo }: WatcherReading, readAt: string): Finding {
  const since =
    seenSecondsAgo === null
      ? 'The watcher has never written anything.'
      : `The watcher has written nothing for ${seconds(seenSecondsAgo)}; it writes every few seconds.`
  return {
    symptom: 'relay-not-in-order',
    cause: 'watcher-silent',
    severity: 'warning',
    subject: null,
    summary: `${since} Nothing more is said to be confirmed meanwhile.`,
    facts: [{ text: since, source: 'projection', readAt }],
    assumptions: [
      'The watcher is down, or cannot write to the projection database; what its journal says is not believed.',
    ],
    check: 'The newest watermark and the newest entry of the journal, by their age.',
    owner: 'relay',
    next: [{ run: 'bin/up', why: 'Starts what is down.' }],
    runbook: RUNBOOK['relay-not-in-order'],
  }
}
