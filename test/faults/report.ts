import os from 'node:os'
import type { CheckReport } from './checker/check.ts'
import { durationText } from './options.ts'
import type { RanFault } from './rounds.ts'

/** Everything a run has to say at its end. Times in milliseconds. */
export type FaultReport = {
  readonly seed: string
  readonly startedAt: string
  readonly elapsedMs: number
  /** As given: rounds were begun for this long, and until there were so many faults and commands. */
  readonly durationMs: number
  readonly minFaults: number
  readonly minCommands: number
  /** WAIT_SCALE of the run: what its limits were multiplied by. */
  readonly waitScale: number
  readonly ratePerSecond: number
  /** SHA-256 of the schedule that was run: equal for runs of equal seed and length. */
  readonly schedule: string
  readonly rounds: number
  readonly faults: number
  readonly byKind: readonly KindReport[]
  /** Edits sent; requests count every try of each. */
  readonly commands: number
  readonly requests: number
  readonly accepted: number
  readonly refused: number
  readonly abandoned: number
  readonly answers: Readonly<Record<string, number>>
  readonly check: CheckReport | undefined
  /** Why the run did not end well besides violations: what did not heal, or broke the runner. */
  readonly unhealed: readonly string[]
}

export type KindReport = {
  readonly kind: string
  readonly faults: number
  /** From a fault's end until the pipeline was whole again: null when that never came. */
  readonly medianMs: number | null
  readonly maxMs: number | null
}

export type RecoveredFault = RanFault & { readonly recoveredAfterMs: number | null }

export const succeeded = (report: FaultReport): boolean =>
  report.unhealed.length === 0 && report.check?.total === 0

/** Pure: recovery by kind of fault, the slowest first, and over all. */
export function recoveryOf(faults: readonly RecoveredFault[]): KindReport[] {
  const kinds = Map.groupBy(faults, ({ planned }) => planned.kind)
  const rows = [...kinds].map(([kind, ran]) => kindReport(kind, ran))
  rows.sort((a, b) => (b.maxMs ?? Number.POSITIVE_INFINITY) - (a.maxMs ?? Number.POSITIVE_INFINITY))
  return [...rows, kindReport('all', faults)]
}

function kindReport(kind: string, ran: readonly RecoveredFault[]): KindReport {
  const times = ran.flatMap(({ recoveredAfterMs }) => (recoveredAfterMs === null ? [] : [recoveredAfterMs]))
  times.sort((a, b) => a - b)
  const isComplete = times.length === ran.length && times.length > 0
  return {
    kind,
    faults: ran.length,
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
    maxMs: isComplete ? (times.at(-1) ?? null) : null,
  }
}

const seconds = (ms: number | null): string => (ms === null ? 'never' : `${(ms / 1_000).toFixed(1)} s`)

/** Pure: the command that begins the same run. */
function commandOf({
  seed,
  durationMs,
  ratePerSecond,
  minFaults,
  minCommands,
  waitScale,
}: FaultReport): string {
  return [
    ...(waitScale === 1 ? [] : [`WAIT_SCALE=${waitScale}`]),
    `npm run faults -- --seed ${/^[\w.-]+$/.test(seed) ? seed : JSON.stringify(seed)}`,
    `--duration ${durationText(durationMs)} --rate ${ratePerSecond}`,
    ...(minFaults > 0 ? [`--min-faults ${minFaults}`] : []),
    ...(minCommands > 0 ? [`--min-commands ${minCommands}`] : []),
  ].join(' ')
}

/** The report as Markdown, for people and for docs/fault-report.md. */
export function markdownOf(report: FaultReport): string {
  const { check } = report
  const verdict = succeeded(report)
    ? 'No violation; every part was healthy again without a hand.'
    : 'The run found faults: see below.'
  const answers = Object.entries(report.answers).toSorted((a, b) => b[1] - a[1])
  const lines = [
    '# Fault run',
    '',
    verdict,
    '',
    '| | |',
    '|---|---|',
    `| seed | ${report.seed} |`,
    `| schedule (SHA-256) | ${report.schedule.slice(0, 16)} |`,
    `| started | ${report.startedAt} |`,
    `| machine | ${os.availableParallelism()} cores, ${Math.round(os.totalmem() / 2 ** 30)} GB; everything on it |`,
    `| limits | ${report.waitScale === 1 ? 'as they are (WAIT_SCALE=1)' : `times ${report.waitScale} (WAIT_SCALE=${report.waitScale})`} |`,
    `| length | ${(report.elapsedMs / 60_000).toFixed(1)} min, at ${report.ratePerSecond} turns of editors a second |`,
    `| faults | ${report.faults} in ${report.rounds} rounds |`,
    `| commands | ${report.commands}, in ${report.requests} requests |`,
    `| of them accepted, refused, given up | ${report.accepted}, ${report.refused}, ${report.abandoned} |`,
    `| violations | ${check ? check.total : 'not checked'} |`,
    '',
    `Again: \`${commandOf(report)}\`. The same seed gives the same schedule; how many rounds fit in depends on the machine.`,
    '',
    '## Recovery',
    '',
    'From the end of a fault until the pipeline was whole again: every process ready, and a revision saved after that confirmed and visible. Faults of a round overlap, so each also waits for the slowest of its round.',
    '',
    '| fault | how often | median | longest |',
    '|---|---|---|---|',
    ...report.byKind.map(
      (row) => `| ${row.kind} | ${row.faults} | ${seconds(row.medianMs)} | ${seconds(row.maxMs)} |`,
    ),
    '',
    '## Answers',
    '',
    '| answer | how often |',
    '|---|---|',
    ...answers.map(([answer, count]) => `| ${answer} | ${count} |`),
    '',
  ]
  if (check) {
    lines.push('## Checked', '', '| what | how many |', '|---|---|')
    const { entries, ...others } = check.checked
    const rows = [
      ...Object.entries(entries).map(([kind, count]) => [`answers and events of kind ${kind}`, count]),
      ...Object.entries(others),
    ]
    lines.push(...rows.map(([what, count]) => `| ${what} | ${count ?? 'not watched'} |`), '')
  }
  if (report.unhealed.length > 0) {
    lines.push('## Not healed', '', ...report.unhealed.map((line) => `- ${line}`), '')
  }
  if (check && check.total > 0) {
    lines.push('## Violations', '')
    lines.push(...Object.entries(check.counts).map(([kind, count]) => `- ${kind}: ${count}`), '')
    lines.push(
      ...check.violations.map(({ kind, subject, message }) => `- ${kind}, ${subject}: ${message}`),
      '',
    )
  }
  return lines.join('\n')
}
