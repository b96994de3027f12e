import type { Publication } from '../publications/contract.ts'
import { BECAUSE } from '../publications/vocabulary.ts'
import { catalogFacts, keyOf, liveOutcome, recordFacts, valueIn } from './chain-facts.ts'
import type { Fact, Finding, Step } from './contract.ts'
import type { Part } from './part.ts'
import type { RevisionReading } from './read-revision.ts'
import { counted, RUNBOOK } from './symptoms.ts'

/** Kafka has it, and the live catalog does not: lag, a refused record, a consumer that is down. Pure. */
export function relayedFindings(chain: Publication, pipeline: readonly Finding[]): readonly Finding[] {
  if (!isBehind(chain)) return []
  const key = keyOf(chain)
  const held = liveOutcome(chain)?.quarantine ?? []
  const consumer = pipeline.find(
    ({ symptom, subject }) => symptom === 'relayed-not-applied' && subject === 'catalog',
  )
  const isOnItsWay = chain.because === 'lag' && chain.isLate !== true
  const isDecided = chain.because === 'rejected'
  const conflict = held.find(({ reason }) => reason === 'conflict')
  return [
    {
      symptom: 'relayed-not-applied',
      cause: conflict ? 'conflict' : causeOf(chain, consumer),
      severity: isOnItsWay || isDecided ? 'note' : conflict ? 'critical' : 'warning',
      subject: key,
      summary: isOnItsWay
        ? `${key} is on its way: Kafka has it, the catalog has it next.`
        : `Kafka has ${key}, and readers do not get it: ${chain.because ? BECAUSE[chain.because] : 'the catalog has not applied it'}.`,
      facts: [
        ...recordFacts(chain),
        ...catalogFacts(chain),
        ...held.map(
          (record): Fact => ({
            text: `Record ${record.quarantineId} of quarantine (${record.state}, ${record.reason}, since ${record.firstAt}): ${record.explanation}`,
            source: 'projection',
            readAt: chain.readAt,
          }),
        ),
        ...(consumer?.facts ?? []),
      ],
      assumptions: isDecided
        ? []
        : (consumer?.assumptions ??
          (isOnItsWay ? ['Nothing holds it up: it is within what is allowed.'] : [])),
      check:
        "The event id in the catalog's inbox, its record against progress, quarantine, and the consumer group.",
      owner: 'projector',
      next: stepsFor(chain, key, held, consumer),
      runbook: held.length > 0 ? 'A record is in quarantine' : RUNBOOK['relayed-not-applied'],
    },
  ]
}

const isBehind = ({ state, because }: Publication): boolean =>
  state === 'intent-relayed' ||
  (state === 'superseded' && (because === 'quarantined' || because === 'not-applied'))

/** The consumer's own trouble names what the chain only sees as waiting. */
const causeOf = ({ because }: Publication, consumer: Finding | undefined): string =>
  (because === 'lag' || because === 'consumer-down' ? consumer?.cause : undefined) ?? because ?? 'not-applied'

function stepsFor(
  chain: Publication,
  key: string,
  held: readonly { readonly quarantineId: string }[],
  consumer: Finding | undefined,
): Step[] {
  const [first] = held
  const replay = {
    run: `bin/notesctl replay ${key} --reason TEXT`,
    why: 'Sends it again, with its event id: what took effect before has no second effect.',
  }
  if (first) {
    return [
      {
        run: `bin/notesctl quarantine show ${first.quarantineId}`,
        why: 'The explanation, headers and bytes.',
      },
      {
        run: `bin/notesctl quarantine redrive ${first.quarantineId} --reason TEXT`,
        why: 'Once the cause is removed: tries it again.',
      },
    ]
  }
  switch (chain.because) {
    case 'not-applied':
      return [
        {
          run: `bin/notesctl verify --note ${chain.noteId}`,
          why: 'Whether the catalog differs from the source.',
        },
        replay,
        {
          run: 'bin/notesctl rebuild catalog --from source --dry-run',
          why: 'When a replay has no effect: a new generation, built beside the live one.',
        },
      ]
    case 'rejected':
      return [
        {
          run: `bin/notesctl quarantine list --note ${chain.noteId} --state any`,
          why: 'Who discarded it, and why.',
        },
      ]
    default:
      return consumer
        ? [...consumer.next]
        : [{ run: `bin/notesctl watch ${key}`, why: 'Follows it to the readers.' }]
  }
}

/** Records in quarantine under the name of the revision that are not this event's. Pure. */
export function strangerFindings(chain: Publication, claims: Part<RevisionReading>): readonly Finding[] {
  if (claims.status === 'unknown') return []
  const own = new Set(
    chain.consumers.flatMap(({ quarantine }) => quarantine.map(({ quarantineId }) => quarantineId)),
  )
  const strangers = claims.value.quarantine.filter(({ id }) => !own.has(id))
  const [first] = strangers
  if (!first) return []
  const key = keyOf(chain)
  const conflict = strangers.find(({ reason }) => reason === 'conflict')
  const eventId = valueIn(chain.intent.eventId)
  return [
    {
      symptom: 'relayed-not-applied',
      cause: conflict ? 'conflict' : 'foreign-record',
      severity: conflict ? 'critical' : 'warning',
      subject: key,
      summary: `${counted(strangers.length, 'record', 'records')} under the name of ${key} ${strangers.length === 1 ? 'lies' : 'lie'} in quarantine and ${strangers.length === 1 ? 'is' : 'are'} not its event; readers are not touched by ${strangers.length === 1 ? 'it' : 'them'}.`,
      facts: strangers.map(({ id, consumer, state, reason, explanation }) => ({
        text: `Record ${id} of quarantine, of ${consumer} (${state}, ${reason}): ${explanation}`,
        source: 'projection',
        readAt: claims.readAt,
      })),
      assumptions: [
        conflict
          ? 'A source that was restored to an older state issued the revision again, or somebody else writes into the topic.'
          : 'Somebody else writes into the topic, or the record was damaged on its way.',
      ],
      check: `Records in quarantine under the note and revision, against the event ${eventId ?? 'of the intent, which is not known'}.`,
      owner: 'operator',
      next: [
        { run: `bin/notesctl quarantine show ${first.id}`, why: 'The explanation, headers and bytes.' },
        {
          run: `bin/notesctl quarantine discard ${first.id} --reason TEXT`,
          why: 'When it is nobody’s event: it is kept, and waits for nobody any more.',
        },
      ],
      runbook: 'A record is in quarantine',
    },
  ]
}
