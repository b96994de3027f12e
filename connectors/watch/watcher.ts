import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../core/log.ts'
import type { ReadinessCheck } from '../../core/operations.ts'
import { ALARMS, CHECKS, type ConnectorAddress } from '../../core/relay/alarms.ts'
import { COURSE_BEGINS, type CourseState, follow } from './course.ts'
import type { IncidentJournal } from './incident-journal.ts'
import type { LookTick } from './look-loop.ts'
import { lastRead, NOTHING_OBSERVED, type Observation } from './observation.ts'
import { changesOf, NO_TROUBLES, raise, type Trouble, type Troubles } from './raised.ts'
import { conditionsSeen, reasonsOf } from './readiness.ts'
import type { RestartTick } from './restart-loop.ts'
import { SourceClock } from './source-clock.ts'
import type { WatermarkTick } from './watermark-loop.ts'

const WATERMARK_EVERY_MS = 500
const CONNECT_EVERY_MS = 1_000
const LOOK_EVERY_MS = 1_000
const JUDGE_EVERY_MS = 500
const JOURNAL_EVERY_MS = 1_000

export type WatcherParts = {
  readonly watermarks: WatermarkTick
  readonly restarts: RestartTick
  readonly looks: LookTick
  readonly journal: IncidentJournal
  readonly address: ConnectorAddress
  readonly logger: Logger
}

/**
 * Runs its ticks side by side, so that a Connect that hangs holds up no watermark, keeps the last observation
 * and judges it. Nothing in here ends because a server is away.
 */
export class Watcher {
  readonly #parts: WatcherParts
  readonly #stopped = new AbortController()
  readonly #startedAtMs = performance.now()
  readonly #clock = new SourceClock()
  #seen: Observation = NOTHING_OBSERVED
  #course: CourseState = COURSE_BEGINS
  #troubles: Troubles = NO_TROUBLES
  #restarts = 0
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: WatcherParts) {
    this.#parts = parts
  }

  seen(): Observation {
    return this.#seen
  }

  troubles(): Troubles {
    return this.#troubles
  }

  course(): CourseState {
    return this.#course
  }

  /** One readiness check a group, all from the last observation: a probe asks no server. */
  checks(): readonly ReadinessCheck[] {
    return CHECKS.map((name) => ({
      name,
      check: async () => reasonsOf(this.#conditions(performance.now())).get(name),
    }))
  }

  start(): void {
    const { watermarks, restarts, looks, journal } = this.#parts
    this.#running = Promise.all([
      this.#every(WATERMARK_EVERY_MS, async () => this.#see(await watermarks.run())),
      this.#every(CONNECT_EVERY_MS, async () => this.#see(await restarts.run(this.#seen.source))),
      this.#every(LOOK_EVERY_MS, async () => this.#see(await looks.run())),
      this.#every(JUDGE_EVERY_MS, async () => this.#judge()),
      this.#every(JOURNAL_EVERY_MS, () => journal.flush()),
    ])
  }

  /** Resolves when the ticks under way have ended. What is open stays open for the next watcher. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    await this.#parts.journal.flush()
  }

  async #every(intervalMs: number, tick: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const startedAtMs = performance.now()
      await tick()
      const pauseMs = Math.max(0, intervalMs - (performance.now() - startedAtMs))
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #see(part: Partial<Observation>): void {
    this.#seen = { ...this.#seen, ...part }
    if (part.restart?.action === 'restart') this.#restarts++
    if (part.source?.status === 'read') this.#clock.set(part.source.value.sourceTime, part.source.atMs)
  }

  #conditions(nowMs: number) {
    return conditionsSeen(this.#seen, this.#course, nowMs, this.#startedAtMs)
  }

  #judge(): void {
    const { source, connector, kafka, projection, topic } = this.#seen
    // Nothing is an incident only because it was not asked yet.
    if ([source, connector, kafka, projection, topic].some(({ status }) => status === 'pending')) return
    const nowMs = performance.now()
    this.#course = follow(this.#course, this.#seen, nowMs)
    const before = this.#troubles
    this.#troubles = raise(before, this.#conditions(nowMs), nowMs)
    this.#log(before, nowMs)
    this.#parts.journal.note({
      troubles: this.#troubles,
      at: this.#clock.at(nowMs),
      sourceLsn: lastRead(source)?.slot?.confirmedFlushLsn?.text ?? null,
      restarts: this.#restarts,
    })
    this.#restarts = 0
  }

  #log(before: Troubles, nowMs: number): void {
    const { logger } = this.#parts
    for (const { code, reason } of this.#troubles.values()) {
      if (!before.has(code))
        logger.warn({ check: ALARMS[code].check, condition: code, reason }, 'not in order')
    }
    const { begun, ended } = changesOf(before, this.#troubles)
    for (const trouble of begun) logger.error(this.#alarmLine(trouble), 'alarm')
    for (const { code, sinceMs } of ended)
      logger.info({ alarm: code, lastedMs: Math.round(nowMs - sinceMs) }, 'alarm is over')
    for (const { code } of before.values()) {
      if (!this.#troubles.has(code))
        logger.info({ check: ALARMS[code].check, condition: code }, 'in order again')
    }
  }

  #alarmLine({ code, reason }: Trouble) {
    const { check, owner, severity, hint, run } = ALARMS[code]
    return { alarm: code, check, severity, owner, reason, hint, run: run(this.#parts.address) }
  }
}
