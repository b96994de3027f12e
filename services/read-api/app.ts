import type { Tracer } from '@opentelemetry/api'
import type { Express } from 'express'
import { isTransientDatabaseError, type Pool } from '../../core/database.ts'
import { createHttpApp, methodNotAllowed } from '../../core/http-app.ts'
import type { Logger } from '../../core/log.ts'
import type { Registry } from '../../core/metrics.ts'
import { Problem } from '../../core/problem.ts'
import { rateLimitOfClients } from '../../core/rate-limit.ts'
import type { FreshnessReader } from './freshness-reader.ts'
import { getNote } from './get-note.ts'
import { RETRY_AFTER_SECONDS } from './limits.ts'
import { getNotes } from './list-notes.ts'
import { registerReadMetrics } from './metrics.ts'
import { readApiDocument } from './openapi.ts'
import type { RevisionWaiters } from './waiters.ts'

export type ReadApiParts = {
  readonly logger: Logger
  readonly metrics: Registry
  readonly tracer?: Tracer | undefined
  readonly pool: Pool
  readonly freshness: FreshnessReader
  readonly waiters: RevisionWaiters
  readonly writeApiUrl: string
  readonly requestsPerSecond: number
}

const translate = (error: unknown): Problem | undefined =>
  isTransientDatabaseError(error)
    ? new Problem(
        'unavailable',
        'The projection database is away, so nothing can be said about notes right now. Ask again.',
        { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS.databaseAway) }, cause: error },
      )
    : undefined

/** The public read API as an express application. */
export function createReadApi(parts: ReadApiParts): Express {
  const { logger, metrics, tracer, pool, freshness, waiters, writeApiUrl } = parts
  registerReadMetrics(metrics, waiters, freshness)
  const checks = [
    {
      name: 'projection-database',
      check: async () => {
        await pool.query('SELECT generation FROM catalog.live_generation')
        return undefined
      },
    },
  ]
  const document = readApiDocument()
  return createHttpApp({ logger, metrics, tracer, checks, document, translate }, (app) => {
    app.use('/notes', rateLimitOfClients(parts.requestsPerSecond))
    app.get('/notes', getNotes(pool, freshness))
    app.get(
      '/notes/:noteId',
      getNote({ pool, freshness, waiters, writeApiUrl, clock: () => performance.now() }),
    )
    app.all(['/notes', '/notes/:noteId'], methodNotAllowed('GET'))
  })
}
