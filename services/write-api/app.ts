import type { Express, RequestHandler } from 'express'
import { type Authenticate, type Role, requireRole } from '../../core/auth.ts'
import { isTransientDatabaseError, type Pool } from '../../core/database.ts'
import { createHttpApp, methodNotAllowed } from '../../core/http-app.ts'
import type { Registry } from '../../core/metrics.ts'
import { type Problem, unavailable } from '../../core/problem.ts'
import type { AskPublicRead } from '../../core/public-read.ts'
import { rateLimit } from '../../core/rate-limit.ts'
import { getEvent } from './events.ts'
import { FactsReader } from './facts.ts'
import { commandBody } from './json-body.ts'
import { getNote, getRevision } from './notes.ts'
import { document } from './openapi.ts'
import { getPublication } from './publications.ts'
import { listRevisions } from './revisions.ts'
import { type SaveNoteParts, saveNote } from './save-note.ts'

export type WriteApiParts = SaveNoteParts & {
  readonly authenticate: Authenticate
  readonly askPublicRead: AskPublicRead
  readonly requestsPerSecond: number
  readonly registry: Registry
}

/** The write API over its parts; listening and ending is main.ts. */
export function createWriteApi(parts: WriteApiParts): Express {
  const { pool } = parts
  const facts = new FactsReader(pool)
  const limit = rateLimit(parts.requestsPerSecond)
  const admit = (...roles: Role[]) => [requireRole(parts.authenticate, ...roles), limit]
  const anyone = admit('editor', 'operator', 'reader')

  return createHttpApp(
    {
      logger: parts.logger,
      metrics: parts.registry,
      checks: [{ name: 'source-database', check: () => answers(pool) }],
      document: document(),
      translate,
      tracer: parts.tracer,
    },
    (app) => {
      app
        .route('/notes')
        .post(admit('editor'), ...commandBody, saveNote(parts))
        .all(methodNotAllowed('POST'))
      const read = (path: string, handler: RequestHandler) =>
        app.route(path).get(anyone, handler).all(methodNotAllowed('GET'))
      read('/notes/:noteId', getNote(pool))
      read('/notes/:noteId/revisions', listRevisions(pool))
      read('/notes/:noteId/revisions/:revision', getRevision(pool))
      read('/events/:eventId', getEvent(facts))
      read('/publications/:noteId/:revision', getPublication({ ...parts, facts }))
    },
  )
}

async function answers(pool: Pool): Promise<undefined> {
  await pool.query('SELECT 1')
}

/** A database that is away or busy is 503; the same request can succeed later. */
function translate(error: unknown): Problem | undefined {
  return isTransientDatabaseError(error)
    ? unavailable('The source database is away or busy.', error)
    : undefined
}
