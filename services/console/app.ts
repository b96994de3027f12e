import type { Express } from 'express'
import type { Authenticate } from '../../core/auth.ts'
import { isTransientDatabaseError, type Pool } from '../../core/database.ts'
import { createHttpApp } from '../../core/http-app.ts'
import type { Logger } from '../../core/log.ts'
import type { Registry } from '../../core/metrics.ts'
import { type Problem, unavailable } from '../../core/problem.ts'
import { consoleDocument } from './openapi.ts'

export type ConsoleParts = {
  readonly logger: Logger
  readonly metrics: Registry
  readonly authenticate: Authenticate
  /** As the operator: reads everything, writes operator_actions and what its grants name. */
  readonly source: Pool
  readonly projection: Pool
}

const answers = async (pool: Pool): Promise<undefined> => {
  await pool.query('SELECT 1')
}

const translate = (error: unknown): Problem | undefined =>
  isTransientDatabaseError(error) ? unavailable('A database is away or busy.', error) : undefined

/** The operator API over its parts; listening and ending is main.ts. */
export function createConsole(parts: ConsoleParts): Express {
  const { logger, metrics, source, projection } = parts
  return createHttpApp(
    {
      logger,
      metrics,
      checks: [
        { name: 'source-database', check: () => answers(source) },
        { name: 'projection-database', check: () => answers(projection) },
      ],
      document: consoleDocument(),
      translate,
    },
    () => {},
  )
}
