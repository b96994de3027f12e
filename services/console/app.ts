import type { Express } from 'express'
import { requireRole } from '../../core/auth.ts'
import { isTransientDatabaseError, type Pool } from '../../core/database.ts'
import { createHttpApp } from '../../core/http-app.ts'
import { type Problem, unavailable } from '../../core/problem.ts'
import { rateLimit } from '../../core/rate-limit.ts'
import { actionRoutes } from './actions/routes.ts'
import { diagnosisRoutes } from './diagnosis/routes.ts'
import { erasureRoutes } from './erasure/routes.ts'
import { gapRoutes } from './gaps/routes.ts'
import { incidentRoutes } from './incidents/routes.ts'
import { intentRoutes } from './intents/routes.ts'
import { consoleDocument } from './openapi.ts'
import type { Admit, ConsoleParts } from './parts.ts'
import { positionRoutes } from './positions/routes.ts'
import { publicationRoutes } from './publications/routes.ts'
import { quarantineRoutes } from './quarantine/routes.ts'
import { rebuildRoutes } from './rebuild/routes.ts'
import { recoveryRoutes } from './recovery/routes.ts'
import { replayRoutes } from './replay/routes.ts'
import { retentionRoutes } from './retention/routes.ts'
import { topicRoutes } from './topic/routes.ts'
import { verifyRoutes } from './verify/routes.ts'

const answers = async (pool: Pool): Promise<undefined> => {
  await pool.query('SELECT 1')
}

const translate = (error: unknown): Problem | undefined =>
  isTransientDatabaseError(error) ? unavailable('A database is away or busy.', error) : undefined

/** The operator API over its parts; listening and ending is main.ts. */
export function createConsole(parts: ConsoleParts): Express {
  const { logger, metrics, source, projection } = parts
  const admit: Admit = [requireRole(parts.authenticate, 'operator'), rateLimit(parts.requestsPerSecond)]
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
      tracer: parts.tracer,
    },
    (app) => {
      actionRoutes(app, admit, parts)
      diagnosisRoutes(app, admit, parts)
      publicationRoutes(app, admit, parts)
      verifyRoutes(app, admit, parts.verifications)
      quarantineRoutes(app, admit, parts)
      gapRoutes(app, admit, parts)
      positionRoutes(app, admit, parts)
      incidentRoutes(app, admit, parts)
      topicRoutes(app, admit, parts)
      recoveryRoutes(app, admit, parts)
      replayRoutes(app, admit, parts)
      intentRoutes(app, admit, parts)
      erasureRoutes(app, admit, parts)
      rebuildRoutes(app, admit, parts)
      retentionRoutes(app, admit, parts)
    },
  )
}
