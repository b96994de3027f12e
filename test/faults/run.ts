import { createHash } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitScale } from '../support/wait.ts'
import type { CheckReport } from './checker/check.ts'
import { type Health, type HealthParts, untilWhole } from './health.ts'
import { HistoryWriter, startRunClock } from './history.ts'
import { judge, watchEffects } from './judge.ts'
import { Random } from './random.ts'
import { type FaultReport, type RecoveredFault, recoveryOf } from './report.ts'
import { describeFault, runRound } from './rounds.ts'
import type { Round } from './schedule/faults.ts'
import { planRounds } from './schedule/plan.ts'
import { settle } from './settle.ts'
import { type FaultLab, startFaultLab } from './stage/fault-lab.ts'
import { Parts } from './stage/parts.ts'
import { Traffic } from './traffic.ts'

export type RunOptions = {
  readonly seed: string
  /** Faults are begun for this long; what is under way then is brought to its end. */
  readonly durationMs: number
  /** Turns of editors a second. */
  readonly ratePerSecond: number
  /** Goes on after the duration until there were so many. */
  readonly minFaults: number
  readonly minCommands: number
  /** The lab's folder. It is removed first. */
  readonly labDir: string
  readonly tell: (line: string) => void
}

/**
 * A whole fault run: a lab from nothing, traffic, rounds of faults, rest, and the checker's judgement. The
 * lab is stopped at the end; its data, logs and the history stay in its folder.
 */
export async function runFaults(options: RunOptions): Promise<FaultReport> {
  const stage = await startFaultLab(options.labDir, options.tell)
  try {
    await watchEffects(stage.lab)
    return await runOn(stage, options)
  } finally {
    await stage.stop()
  }
}

async function runOn(stage: FaultLab, options: RunOptions): Promise<FaultReport> {
  const { seed, ratePerSecond, tell } = options
  const historyFile = path.join(options.labDir, 'run', 'history.jsonl')
  mkdirSync(path.dirname(historyFile), { recursive: true })
  rmSync(historyFile, { force: true })
  const history = new HistoryWriter(historyFile)
  const clock = startRunClock()
  history.record({ kind: 'run', seed, startedAt: clock.startedAt })
  const random = new Random(seed)
  const traffic = new Traffic({ stage, history, clock, random: random.fork('traffic'), ratePerSecond })
  const health: HealthParts = { stage, parts: new Parts(stage), traffic, clock, tell }

  using stack = new DisposableStack()
  stack.defer(() => traffic.close())
  traffic.start()
  const unhealed: string[] = []
  const before = await untilWhole(health)
  if (before.status === 'broken') unhealed.push(...before.obstacles)
  const { rounds, faults, notHealed } =
    before.status === 'whole' ? await runRounds(options, health, random, history) : NOTHING_RAN
  unhealed.push(...notHealed)
  await traffic.stop()
  tell(`no more writes; waiting until everything has arrived`)
  const rest = await settle(health)
  if (rest.status === 'broken') unhealed.push(...rest.obstacles.map((line) => `at the end: ${line}`))
  await history.close()

  let check: CheckReport | undefined
  try {
    check = await judge(stage.lab, historyFile)
  } catch (error) {
    unhealed.push(`the checker could not judge: ${(error as Error).message}`)
  }
  return {
    seed,
    startedAt: new Date(clock.startedAt).toISOString(),
    elapsedMs: clock.now(),
    durationMs: options.durationMs,
    minFaults: options.minFaults,
    minCommands: options.minCommands,
    waitScale,
    ratePerSecond,
    schedule: createHash('sha256').update(JSON.stringify(rounds)).digest('hex'),
    rounds: rounds.length,
    faults: faults.length,
    byKind: recoveryOf(faults),
    ...traffic.editors.counts,
    answers: Object.fromEntries([
      ...traffic.editors.statuses,
      ...traffic.readers.statuses,
      ...traffic.pollers.statuses,
    ]),
    check,
    unhealed,
  }
}

type RanRounds = {
  readonly rounds: readonly Round[]
  readonly faults: readonly RecoveredFault[]
  readonly notHealed: readonly string[]
}
const NOTHING_RAN: RanRounds = { rounds: [], faults: [], notHealed: [] }

/** Rounds as planned, each after the one before was recovered from. Ends early when one is not. */
async function runRounds(
  { durationMs, minFaults, minCommands, tell }: RunOptions,
  health: HealthParts,
  random: Random,
  history: HistoryWriter,
): Promise<RanRounds> {
  const { stage, parts, traffic, clock } = health
  const injecting = { stage, parts, accepted: () => traffic.notes.sample, random: random.fork('inject') }
  const beganMs = clock.now()
  const rounds: Round[] = []
  const faults: RecoveredFault[] = []
  for (const round of planRounds(random.fork('schedule'))) {
    const enough = faults.length >= minFaults && traffic.editors.counts.commands >= minCommands
    if (enough && clock.now() - beganMs >= durationMs) break
    rounds.push(round)
    const at = `${((clock.now() - beganMs) / 1_000).toFixed(0)} s`.padStart(6)
    tell(`${at}  round ${round.number}: ${round.faults.map(describeFault).join('; ')}`)
    const ran = await runRound(round, clock, injecting, tell)
    const after = await untilWhole(health)
    for (const fault of ran) {
      const recoveredAfterMs = after.status === 'whole' ? after.atMs - fault.endMs : null
      faults.push({ ...fault, recoveredAfterMs })
      history.record({
        kind: 'fault',
        id: faults.length,
        fault: describeFault(fault.planned),
        target: fault.planned.target,
        startMs: fault.startMs,
        endMs: fault.endMs,
        recoveredAfterMs,
      })
    }
    tell(
      `        ${outcomeOf(
        after,
        ran.map(({ endMs }) => endMs),
        traffic,
      )}`,
    )
    if (after.status === 'broken') {
      return {
        rounds,
        faults,
        notHealed: after.obstacles.map((line) => `after round ${round.number}: ${line}`),
      }
    }
    await sleep(round.calmMs)
  }
  return { rounds, faults, notHealed: [] }
}

function outcomeOf(after: Health, ends: readonly number[], traffic: Traffic): string {
  const { commands, requests } = traffic.editors.counts
  const so = `${commands} commands, ${requests} requests so far`
  if (after.status === 'broken') return `NOT WHOLE: ${after.obstacles.join('; ')} (${so})`
  const lastEnd = Math.max(...ends)
  return `whole ${((after.atMs - lastEnd) / 1_000).toFixed(1)} s after the last of it; ${so}`
}
