import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { ConsumerLag, Fact, Finding } from './contract.ts'
import type { Part } from './part.ts'
import type { GapCounts, MissingConstraint, QuarantineCounts } from './read-projection.ts'
import { counted, RUNBOOK, seconds } from './symptoms.ts'

const ALLOWED_SECONDS = ALLOWED_DELAY_MS.brokerToCatalog / 1_000

/** What keeps records that Kafka has from what readers see, by consumer. Pure. */
export const consumerFindings = (consumers: Part<readonly ConsumerLag[]>): readonly Finding[] =>
  consumers.status === 'unknown'
    ? []
    : consumers.value.filter(({ live }) => live).flatMap((lag) => ofConsumer(lag, consumers.readAt))

function ofConsumer(lag: ConsumerLag, readAt: string): readonly Finding[] {
  const { consumer, generation, members, lagRecords, lagSeconds } = lag
  const name = consumer === 'catalog' ? `catalog (generation ${generation})` : consumer
  const facts: Fact[] = [
    ...(lagRecords === null
      ? []
      : [
          {
            text: `${name} has not applied ${counted(lagRecords, 'record')} of Kafka${lagSeconds ? `, the oldest for at least ${seconds(lagSeconds)}; ${seconds(ALLOWED_SECONDS)} is allowed` : ''}.`,
            source: 'projection' as const,
            readAt,
          },
        ]),
    ...(members === null
      ? []
      : [
          {
            text: `${counted(members, 'process', 'processes')} of its consumer group ${members === 1 ? 'is' : 'are'} connected.`,
            source: 'kafka' as const,
            readAt,
          },
        ]),
  ]
  const common = {
    symptom: 'relayed-not-applied',
    subject: consumer,
    facts,
    owner: 'projector',
    runbook: RUNBOOK['relayed-not-applied'],
  } as const
  if (lag.stopped.length > 0) return [stopped(lag, name, common)]
  if (members === 0) {
    return [
      {
        ...common,
        cause: 'consumer-down',
        severity: 'warning',
        summary: `Nobody reads for ${name}: no process is in its consumer group${lagRecords ? `, and ${counted(lagRecords, 'record waits', 'records wait')}` : ''}.`,
        assumptions: ['The projector is stopped or cannot reach Kafka; nothing of it is lost.'],
        check: "The members of the consumer group, and progress against the topic's end.",
        next: [
          {
            run: 'bin/up',
            why: 'Starts what is down; in the lab also: npm run --silent lab -- start projector.',
          },
        ],
      },
    ]
  }
  if (!lagRecords || lagSeconds === null || lagSeconds <= ALLOWED_SECONDS) return []
  return [
    {
      ...common,
      cause: 'consumer-lag',
      severity: 'warning',
      summary: `${name} is behind: ${counted(lagRecords, 'record waits', 'records wait')}, the oldest for at least ${seconds(lagSeconds)}.`,
      assumptions: [
        'It is reading and works through a backlog, or waits for its database or the schema registry: only its /readyz says which.',
      ],
      check: "Progress against the topic's end, and the oldest watermark that it has not passed.",
      next: [
        { run: 'curl -s "$PROJECTOR_URL/readyz"', why: 'Says what it waits for.' },
        { run: 'bin/notesctl positions', why: 'Run twice: "applied below" grows while it works.' },
      ],
    },
  ]
}

function stopped(
  { consumer, stopped: partitions }: ConsumerLag,
  name: string,
  common: Pick<Finding, 'symptom' | 'subject' | 'facts' | 'owner'>,
): Finding {
  const listed = partitions.map(({ partition, reason }) => `${partition} (${reason})`).join(', ')
  return {
    ...common,
    cause: partitions[0]?.reason ?? 'stopped',
    severity: 'critical',
    summary: `${name} does not read on in ${counted(partitions.length, 'partition')}: ${listed}. Nothing of it is applied until a person decides.`,
    assumptions: [],
    check: 'What the projector recorded when it compared its progress with the topic.',
    next: [
      { run: 'bin/notesctl positions', why: 'Says what was found in each partition.' },
      { run: 'bin/notesctl verify', why: 'Lists what is missing, before anything is decided.' },
      {
        run: `bin/notesctl positions accept ${consumer} --reason TEXT`,
        why: 'Goes on from the first record that Kafka has now.',
      },
    ],
    runbook: 'A partition is not read on',
  }
}

/** Records that were refused and wait for a person. Pure. */
export function quarantineFindings(quarantine: Part<QuarantineCounts>): readonly Finding[] {
  if (quarantine.status === 'unknown') return []
  const { open, more } = quarantine.value
  if (open.length === 0) return []
  const total = open.reduce((sum, { count }) => sum + count, 0)
  const isConflict = open.some(({ reason }) => reason === 'conflict')
  return [
    {
      symptom: 'relayed-not-applied',
      cause: isConflict ? 'conflict' : 'quarantined',
      severity: isConflict ? 'critical' : 'warning',
      subject: null,
      summary: `${more ? 'More than ' : ''}${counted(total, 'record lies', 'records lie')} in quarantine and ${total === 1 ? 'waits' : 'wait'} for a person${isConflict ? '; a conflict among them: one revision came with two contents' : ''}.`,
      facts: open.map(({ consumer, reason, state, count }) => ({
        text: `${consumer}: ${count} ${state}, reason ${reason}.`,
        source: 'projection',
        readAt: quarantine.readAt,
      })),
      assumptions: [],
      check: 'Records in quarantine that are open, asked to be tried again, or held.',
      owner: 'projector',
      next: [
        { run: 'bin/notesctl quarantine list', why: 'Names each with its reason.' },
        {
          run: 'bin/notesctl quarantine redrive ID --reason TEXT',
          why: 'Tries it again, once the cause is removed; what took effect before is not applied again.',
        },
      ],
      runbook: 'A record is in quarantine',
    },
  ]
}

/** Revisions that readers were taken past. Pure. */
export function gapFindings(gaps: Part<GapCounts>): readonly Finding[] {
  if (gaps.status === 'unknown') return []
  const { revisions, oldestSeconds } = gaps.value
  if (revisions.count === 0) return []
  const summary = `Readers were taken past ${revisions.more ? 'more than ' : ''}${counted(revisions.count, 'revision')} that the catalog has not seen${oldestSeconds === null ? '' : `, the oldest ${seconds(oldestSeconds)} ago`}.`
  return [
    {
      symptom: 'revision-never-seen',
      cause: 'gap',
      severity:
        oldestSeconds !== null && oldestSeconds <= ALLOWED_DELAY_MS.commitToVisible / 1_000
          ? 'warning'
          : 'critical',
      subject: null,
      summary,
      facts: [{ text: summary, source: 'projection', readAt: gaps.readAt }],
      assumptions: [],
      check: 'Open runs of revisions that were passed, of the live catalog.',
      owner: 'relay',
      next: [
        { run: 'bin/notesctl gaps', why: 'Names each, and whether a record of it was seen.' },
        { run: 'bin/notesctl diagnose NOTE:REV', why: 'Says of one whether its record can still come.' },
      ],
      runbook: RUNBOOK['revision-never-seen'],
    },
  ]
}

/** What makes it impossible that a revision takes effect twice, and is not there. Pure. */
export function constraintFindings(missing: Part<readonly MissingConstraint[]>): readonly Finding[] {
  if (missing.status === 'unknown' || missing.value.length === 0) return []
  const names = missing.value.map(({ table, name }) => `${name} of ${table}`).join(', ')
  return [
    {
      symptom: 'visible-twice',
      cause: 'dedupe-key-missing',
      severity: 'critical',
      subject: null,
      summary: `The projection database does not enforce ${names}: nothing makes it impossible now that one revision takes effect twice.`,
      facts: missing.value.map(({ table, name, key }) => ({
        text: `${table} has no valid unique constraint ${name} over ${key}.`,
        source: 'projection',
        readAt: missing.readAt,
      })),
      assumptions: ['Somebody dropped it, or the projection was restored without it: a migration made it.'],
      check: 'The unique constraints of the catalog, as PostgreSQL has them.',
      owner: 'projection database',
      next: [
        { run: 'bin/notesctl verify', why: 'Shows whether anything differs from the source already.' },
        {
          run: 'bin/notesctl rebuild catalog --from source --dry-run',
          why: 'What a new generation would need, once the constraint is back.',
        },
      ],
      runbook: RUNBOOK['visible-twice'],
    },
  ]
}
