import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlClient } from './control-client.ts'
import type { LabReport } from './control-server.ts'

/** The lab did not come up; the message is for a person. */
export class LabError extends Error {
  override name = 'LabError'
}

const UP_LIMIT_MS = 120_000
const POLL_MS = 100

/**
 * Follows the supervisor's report until it is as wanted, telling each part once when it is ready.
 * @param until wanted; a lab that gave up is never
 * @param alive whether the supervisor lives; asked before each look
 * @throws LabError when the supervisor died, gave up, or UP_LIMIT_MS * WAIT_SCALE passed
 */
export async function follow(
  client: ControlClient,
  until: (report: LabReport) => boolean,
  alive: () => Promise<boolean>,
  tell: (line: string) => void,
): Promise<LabReport> {
  const told = new Set<string>()
  const once = (name: string, line: string) => {
    if (!told.has(name)) tell(line)
    told.add(name)
  }
  const row = (name: string, what: string, ms: number) =>
    `${name.padEnd(15)}${what.padEnd(8)}${`${(ms / 1000).toFixed(1)} s`.padStart(7)}`
  const limitMs = UP_LIMIT_MS * Number(process.env.WAIT_SCALE ?? 1)
  const endAt = performance.now() + limitMs
  for (;;) {
    if (!(await alive())) {
      throw new LabError(
        'The supervisor of the lab has ended meanwhile (bin/down, or see logs/supervisor.log). Start again: bin/up',
      )
    }
    const report = await client.tryReport()
    for (const note of report?.portNotes ?? []) once(note, note)
    for (const { name, readyAfterMs, state } of report?.processes ?? []) {
      if (state === 'ready' && readyAfterMs !== undefined) once(name, row(name, 'ready', readyAfterMs))
    }
    if (report?.setup.state === 'done') once('setup', row('setup', 'done', report.setup.afterMs ?? 0))
    if (report?.phase === 'failed') {
      throw new LabError(`The lab did not come up. ${report.reason}${diedParts(report)}`)
    }
    if (report && until(report)) return report
    if (performance.now() > endAt) {
      throw new LabError(`Not everything was ready within ${limitMs / 1000} s.${lateParts(report)}`)
    }
    await sleep(POLL_MS)
  }
}

type Part = LabReport['processes'][number]
const listed = (parts: readonly Part[], what: (part: Part) => string): string =>
  parts.map((part) => `\n  ${part.name}: ${what(part)}, see ${part.logFile}`).join('')

/** A part that ends again and again is often why something else waits in vain. */
const diedParts = (report: LabReport): string =>
  listed(
    report.processes.filter(({ restarts }) => restarts > 0),
    ({ lastExit, restarts }) => `ended ${restarts} times (${lastExit})`,
  )

const lateParts = (report: LabReport | undefined): string =>
  listed(report?.processes.filter(({ state }) => state !== 'ready') ?? [], ({ state, lastExit, reason }) =>
    [state, reason ?? lastExit].filter((part) => part !== undefined).join(', last: '),
  )
