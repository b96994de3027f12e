import { randomUUID } from 'node:crypto'
import { isTransientDatabaseError } from '../../../core/database.ts'
import type { Logger } from '../../../core/log.ts'
import { Problem } from '../../../core/problem.ts'
import type { Difference, Verification } from './contract.ts'
import type { Scope } from './first-look.ts'
import type { Verified } from './verification.ts'

export const RUN_LIMITS = {
  /** Side by side, so that one note can be looked at while all are. */
  running: 2,
  /** Finished ones that can still be asked for; each may hold as many differences as are listed at most. */
  kept: 5,
} as const

type Run = { verification: Verification; differences: readonly Difference[] }

/** Verifications of this process, running or just finished. They change nothing, so nothing is kept for long. */
export class Verifications {
  readonly #verify: (scope: Scope, signal: AbortSignal) => Promise<Verified>
  readonly #logger: Logger
  readonly #runs = new Map<string, Run>()
  readonly #stopped = new AbortController()

  constructor(verify: (scope: Scope, signal: AbortSignal) => Promise<Verified>, logger: Logger) {
    this.#verify = verify
    this.#logger = logger
  }

  /** @throws Problem `too-many-requests` while as many as are allowed are running */
  start(scope: Scope): Verification {
    const running = [...this.#runs.values()].filter(({ verification }) => verification.status === 'running')
    if (running.length >= RUN_LIMITS.running) {
      throw new Problem(
        'too-many-requests',
        `${running.length} verifications are running. Wait for one to end.`,
        {
          headers: { 'Retry-After': '5' },
        },
      )
    }
    const run: Run = {
      differences: [],
      verification: {
        id: randomUUID(),
        noteId: scope.noteId ?? null,
        deep: scope.deep,
        status: 'running',
        startedAt: new Date().toISOString(),
        finishedAt: null,
        failure: null,
        result: null,
      },
    }
    this.#runs.set(run.verification.id, run)
    void this.#run(run, scope)
    return run.verification
  }

  find(id: string): Run | undefined {
    return this.#runs.get(id)
  }

  /** Ends what is running. */
  stop(): void {
    this.#stopped.abort()
  }

  async #run(run: Run, scope: Scope): Promise<void> {
    try {
      const { result, differences } = await this.#verify(scope, this.#stopped.signal)
      run.differences = differences
      run.verification = { ...run.verification, status: 'done', result }
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.#logger.warn({ err: error }, 'a verification was not finished')
      run.verification = { ...run.verification, status: 'failed', failure: failureOf(error) }
    }
    run.verification = { ...run.verification, finishedAt: new Date().toISOString() }
    this.#forgetOldest()
  }

  #forgetOldest(): void {
    const finished = [...this.#runs.values()].filter(({ verification }) => verification.status !== 'running')
    for (const { verification } of finished.slice(0, -RUN_LIMITS.kept)) this.#runs.delete(verification.id)
  }
}

const failureOf = (error: unknown): string =>
  isTransientDatabaseError(error)
    ? 'A database went away or did not answer in time. Nothing is known; verify again when it is back.'
    : 'Something unexpected happened; the log of the operator API has it. Nothing is known.'
