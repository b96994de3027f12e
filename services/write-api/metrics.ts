import type { Pool } from '../../core/database.ts'
import { Counter, Gauge, Histogram, type Registry } from '../../core/metrics.ts'

export type CommandMetrics = {
  /** Starts the clock of one command; the returned function takes its outcome. */
  start(): (outcome: string) => void
}

/** Commands by outcome and duration. `refused`: wrong syntax; `failed`: nothing was decided (503, 500). */
export function commandMetrics(registry: Registry): CommandMetrics {
  const commands = new Counter({
    name: 'notes_commands_total',
    help: 'Commands to save a note, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'notes_command_duration_seconds',
    help: 'Time from the whole request to the decision about a command.',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return {
    start: () => {
      const start = performance.now()
      return (outcome) => {
        commands.inc({ outcome })
        duration.observe({ outcome }, (performance.now() - start) / 1000)
      }
    },
  }
}

/** How the pool is used. `waiting` above 0 for long: the pool is too small or the database too slow. */
export function poolMetrics(registry: Registry, pool: Pool): void {
  new Gauge({
    name: 'database_pool_connections',
    help: 'Connections of the pool that are open and idle, open and in use, and requests waiting for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}
