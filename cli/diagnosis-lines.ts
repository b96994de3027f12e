import type { Diagnosis, Finding, Judged, Part, Pipeline, PublicationDiagnosis } from './http/diagnosis.ts'
import { columns, counted, printable } from './output.ts'

/** A diagnosis for people: the verdict in one line, then what was found, then what it was read from. */
export function diagnosisLines(diagnosis: Diagnosis): string[] {
  return [
    verdictLine(diagnosis),
    ...findingLines(diagnosis.findings),
    '',
    ...columns(pipelineRows(diagnosis.pipeline)),
    ...unknownLines(diagnosis),
  ].map(printable)
}

/** One publication: the verdict, what was found, then its state and the five questions. */
export function publicationLines(diagnosis: PublicationDiagnosis): string[] {
  const { noteId, revision, publication } = diagnosis
  const rows =
    publication === null
      ? [['state', 'unknown: neither database answered']]
      : [
          ['state', [publication.state, publication.because].filter(Boolean).join(', ')],
          ...Object.entries(publication.answers),
        ]
  return [
    verdictLine(diagnosis),
    ...findingLines(diagnosis.findings),
    '',
    `${noteId}:${revision ?? 'unknown'}`,
    ...columns(rows).map((row) => `  ${row}`),
    ...unknownLines(diagnosis),
  ].map(printable)
}

export const verdictLine = ({ verdict }: Judged): string => `${verdict.status}: ${verdict.text}`

/** What only a server knows that did not answer. */
export const unknownLines = ({ unknown }: Judged): string[] =>
  unknown.map(({ part, reason }) => `Unknown, because it did not answer: ${part} (${reason})`)

/** Facts and assumptions apart; who has the next step, and the command. */
export const findingLines = (findings: readonly Finding[]): string[] =>
  findings.flatMap((finding, index) => ['', ...oneFinding(finding, index + 1)])

function oneFinding(finding: Finding, number: number): string[] {
  const { severity, symptom, cause, subject, summary, facts, assumptions, check, owner, next, runbook } =
    finding
  const rows = [
    ...facts.map(({ text, source, readAt }) => ['fact', `${text} [${source}, ${readAt}]`]),
    ...assumptions.map((text) => ['assumed', text]),
    ['checked', check],
    ['owner', owner],
    ...next.map(({ run, why }) => ['next', `${run}   # ${why}`]),
    ['runbook', `docs/runbook.md, "${runbook}"`],
  ]
  return [
    `${number}. ${severity}  ${symptom}, ${cause}${subject === null ? '' : `  ${subject}`}`,
    `   ${summary}`,
    ...columns(rows.map(([name = '', text = '']) => [name, text.replaceAll('\n', ' | ')])).map(
      (row) => `   ${row}`,
    ),
  ]
}

function pipelineRows(pipeline: Pipeline): string[][] {
  const { states, oldestPending, relay, consumers, quarantine, gaps, publicRead } = pipeline
  return [
    ['states', states.map(({ state, count }) => `${state} ${said(count, countText)}`).join(', ')],
    ['oldest pending', said(oldestPending, pendingText)],
    ['relay', said(relay, relayText)],
    ...consumerRows(consumers),
    ['quarantine', said(quarantine, quarantineText)],
    ['missing', said(gaps, ({ revisions }) => `${countText(revisions)} that readers were taken past`)],
    ['readers', said(publicRead, publicText)],
  ]
}

const said = <T>(part: Part<T>, text: (value: T) => string): string =>
  part.status === 'read' ? text(part.value) : `unknown: ${part.reason}`

const countText = ({ count, more }: { count: number; more: boolean }): string =>
  more ? `more than ${count}` : String(count)

const pendingText = (
  pending: { noteId: string; revision: number; ageSeconds: number; allowedSeconds: number } | null,
) =>
  pending === null
    ? 'none'
    : `${pending.noteId}:${pending.revision}, ${pending.ageSeconds.toFixed(1)} s old; ${pending.allowedSeconds} s allowed`

type Read<T> = Extract<T, { status: 'read' }> extends { value: infer V } ? V : never

function relayText({
  verdict,
  connector,
  tasks,
  slot,
  relayedUntil,
  lagSeconds,
}: Read<Pipeline['relay']>): string {
  const state = [
    `connector ${connector ?? 'unknown'}`,
    ...tasks.map(({ id, state }) => `task ${id} ${state}`),
    slot
      ? `slot ${slot.fault ?? (slot.active ? 'active' : 'INACTIVE')}, ${slot.lagBytes ?? '?'} bytes behind`
      : 'slot unknown',
    relayedUntil
      ? `in Kafka until ${relayedUntil} (${lagSeconds?.toFixed(1)} s ago)`
      : 'in Kafka until unknown',
  ]
  return `${verdict}; ${state.join('; ')}`
}

const consumerRows = (consumers: Pipeline['consumers']): string[][] =>
  consumers.status === 'unknown'
    ? [['consumers', `unknown: ${consumers.reason}`]]
    : consumers.value.map(({ consumer, generation, live, lagRecords, lagSeconds, members, stopped }) => [
        consumer === 'catalog' ? `catalog ${generation}${live ? '' : ' (not live)'}` : consumer,
        [
          `${lagRecords ?? 'unknown'} records behind`,
          lagRecords === 0
            ? undefined
            : `for ${lagSeconds === null ? 'an unknown time' : `at least ${lagSeconds.toFixed(1)} s`}`,
          members === null ? 'readers unknown' : `read by ${counted(members, 'process', 'processes')}`,
          ...stopped.map(({ partition, reason }) => `partition ${partition} stopped (${reason})`),
        ]
          .filter((text) => text !== undefined)
          .join(', '),
      ])

const quarantineText = ({ open, more }: Read<Pipeline['quarantine']>): string =>
  open.length === 0
    ? 'empty'
    : `${open.map(({ consumer, reason, state, count }) => `${consumer}: ${count} ${reason} (${state})`).join(', ')}${more ? ', and more' : ''}`

const publicText = ({ asOf, freshness, ageSeconds }: Read<Pipeline['publicRead']>): string =>
  `as of ${asOf ?? 'unknown'}, ${freshness ?? 'unknown'}${ageSeconds === null ? '' : `, from a cache (Age ${ageSeconds} s)`}`
