import { ConfigError } from './config.ts'
import type { Logger } from './log.ts'

/** Registers what to undo at the end; undone in reverse order, each even when another fails. */
export type OnStop = (name: string, release: () => Promise<unknown> | unknown) => void

/** Refusing to start for a reason a person can act on; printed without a stack. */
export class StartupError extends Error {
  override name = 'StartupError'
}

const STOP_LIMIT_MS = 20_000

/**
 * The life of one process: start, run until SIGTERM or SIGINT, release in reverse order, exit 0.
 * A configuration or startup problem is printed for a person and exits 2; anything unexpected exits 1,
 * so that a supervisor starts the process again.
 * @param start wires everything; registers each release on the line that acquires.
 */
export async function runService(
  logger: Logger,
  start: (onStop: OnStop, fail: (error: unknown) => void) => Promise<void>,
): Promise<void> {
  const releases: { name: string; release: () => unknown }[] = []
  let stopping = false

  const stop = async (exitCode: number, why: string) => {
    if (stopping) return
    stopping = true
    logger.info({ why }, 'stopping')
    setTimeout(() => {
      logger.error(`did not stop within ${STOP_LIMIT_MS} ms; leaving`)
      process.exit(exitCode || 1)
    }, STOP_LIMIT_MS).unref()
    for (const { name, release } of releases.reverse()) {
      try {
        await release()
      } catch (error) {
        logger.error({ err: error, part: name }, 'a part did not stop cleanly')
      }
    }
    logger.info({ exitCode }, 'stopped')
    process.exit(exitCode)
  }
  const fail = (error: unknown) => {
    logger.fatal({ err: error }, 'unexpected failure; leaving so that a supervisor starts this process again')
    void stop(1, 'failure')
  }
  process.on('SIGTERM', () => void stop(0, 'SIGTERM'))
  process.on('SIGINT', () => void stop(0, 'SIGINT'))
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  try {
    await start((name, release) => releases.push({ name, release }), fail)
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StartupError) {
      process.stderr.write(`${error.message}\n`)
      await stop(2, error.name)
    } else fail(error)
  }
}
