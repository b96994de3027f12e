import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import { ALARMS, type ConnectorAddress } from '../../../core/relay/alarms.ts'
import { constraintFindings, consumerFindings, gapFindings, quarantineFindings } from './consumer-findings.ts'
import type { ConsumerLag, Finding } from './contract.ts'
import type { NoteOnly } from './counts.ts'
import type { Part } from './part.ts'
import { publicFindings } from './public-findings.ts'
import type { GapCounts, MissingConstraint, QuarantineCounts, WatcherReading } from './read-projection.ts'
import type { PublicReading } from './read-public.ts'
import type { RelayReading } from './read-relay.ts'
import { relayFindings } from './relay-findings.ts'
import { RUNBOOK, seconds } from './symptoms.ts'
import { inOrderOfWeight } from './verdict.ts'

/** Everything that the whole pipeline is judged by. */
export type PipelineReadings = {
  readonly relay: RelayReading
  readonly watcher: Part<WatcherReading>
  readonly consumers: Part<readonly ConsumerLag[]>
  readonly quarantine: Part<QuarantineCounts>
  readonly gaps: Part<GapCounts>
  readonly constraints: Part<readonly MissingConstraint[]>
  readonly noteOnly: Part<NoteOnly>
  readonly publicRead: Part<PublicReading>
}

/** What is not in order, a cause before what follows from it, the serious first. Pure. */
export function pipelineFindings(readings: PipelineReadings, address: ConnectorAddress): readonly Finding[] {
  const relay = relayFindings(readings.relay, readings.watcher, address)
  const pending = pendingFindings(readings.relay, relay)
  const before = [
    ...projectionAway(readings.gaps),
    // What is pending names the revision and its cause; "behind" would say it once more.
    ...relay.filter(({ cause }) => cause !== 'behind' || pending.length === 0),
    ...pending,
    ...consumerFindings(readings.consumers),
    ...quarantineFindings(readings.quarantine),
    ...gapFindings(readings.gaps),
    ...constraintFindings(readings.constraints),
    ...noteOnlyFindings(readings.noteOnly),
  ]
  const readers = publicFindings(readings.publicRead)
  const known = before.length > 0 ? readers.filter(({ cause }) => !FOLLOWS.has(cause)) : readers
  return inOrderOfWeight([...before, ...known])
}

/** Of readers' answers: what only says once more that something before is not in order. */
const FOLLOWS: ReadonlySet<string> = new Set(['projection-old', 'freshness-unknown'])

function projectionAway(asked: Part<unknown>): readonly Finding[] {
  if (asked.status === 'read') return []
  const { owner, severity, hint, run } = ALARMS['projection-unreachable']
  return [
    {
      symptom: 'part-away',
      cause: 'projection-unreachable',
      severity,
      subject: null,
      summary: `The projection database does not answer (${asked.reason}); what consumers have applied is unknown.`,
      facts: [],
      assumptions: [],
      check: 'It was asked, and gave no answer.',
      owner,
      next: [{ run: run(), why: hint }],
      runbook: RUNBOOK['part-away'],
    },
  ]
}

const ALLOWED_SECONDS = ALLOWED_DELAY_MS.commitToBroker / 1_000

/** The oldest intent that the relay is not known to have brought, when it is later than allowed. */
function pendingFindings({ waiting, status }: RelayReading, relay: readonly Finding[]): readonly Finding[] {
  if (waiting.status === 'unknown' || waiting.value === null) return []
  const { noteId, revision, ageSeconds } = waiting.value
  if (ageSeconds <= ALLOWED_SECONDS) return []
  const cause = relay.find(({ cause: code }) => code !== 'behind')
  const until = status.lag.status === 'read' ? status.lag.value.relayedUntil : null
  return [
    {
      symptom: 'intent-pending',
      cause: cause?.cause ?? 'relay-behind',
      severity: 'warning',
      subject: `${noteId}:${revision}`,
      summary: `${noteId}:${revision} was committed ${seconds(ageSeconds)} ago and is not known to be in Kafka; ${seconds(ALLOWED_SECONDS)} is allowed.`,
      facts: [
        {
          text: `The oldest intent that the slot is not known to have passed is ${noteId}:${revision}, ${seconds(ageSeconds)} old.`,
          source: 'source',
          readAt: waiting.readAt,
        },
        {
          text: until
            ? `Last activity of the relay: everything committed until ${until} is in Kafka.`
            : 'Of no moment is it known that everything committed before it is in Kafka.',
          source: 'source',
          readAt: waiting.readAt,
        },
      ],
      assumptions: cause
        ? [`It waits because of what stands above: ${cause.cause}.`]
        : ['The relay works through a backlog: nothing else is wrong with it.'],
      check: 'The oldest intent outside what the watcher has seen the slot confirm, by its age.',
      owner: 'relay',
      next: [
        ...(cause?.next.slice(0, 1) ?? [
          { run: 'bin/notesctl relay status', why: 'The lag falls while it works.' },
        ]),
        {
          run: `bin/notesctl diagnose ${noteId}:${revision}`,
          why: 'Afterwards: it is replayed only if it does not come by itself.',
        },
      ],
      runbook: RUNBOOK['intent-pending'],
    },
  ]
}

function noteOnlyFindings(noteOnly: Part<NoteOnly>): readonly Finding[] {
  if (noteOnly.status === 'unknown' || noteOnly.value.count === 0) return []
  const { count, more, keys } = noteOnly.value
  const [first = 'NOTE:REV'] = keys
  const summary = `${more ? 'More than ' : ''}${count} canonical ${count === 1 && !more ? 'revision has' : 'revisions have'} no publication intent: nothing will ever publish ${count === 1 && !more ? 'it' : 'them'}.`
  return [
    {
      symptom: 'note-without-intent',
      cause: 'no-intent',
      severity: 'warning',
      subject: null,
      summary,
      facts: [{ text: `The oldest: ${keys.join(', ')}.`, source: 'source', readAt: noteOnly.readAt }],
      assumptions: ['Something wrote past the write API: only it writes both in one commit.'],
      check: 'Canonical revisions against outbox rows.',
      owner: 'write-path',
      next: [
        { run: 'bin/notesctl publications list --state note-only', why: 'Names them.' },
        { run: `bin/notesctl diagnose ${first}`, why: 'Says who wrote it, and what may be decided.' },
      ],
      runbook: RUNBOOK['note-without-intent'],
    },
  ]
}
