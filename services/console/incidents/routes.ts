import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { valid } from '../../../core/validate.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { IncidentPage, IncidentsQuery } from './contract.ts'
import { readIncidents } from './read.ts'

/** The watcher's journal. */
export function incidentRoutes(
  app: Express,
  admit: Admit,
  { projection }: Pick<ConsoleParts, 'projection'>,
): void {
  app
    .route('/relay/incidents')
    .get(...admit, async (req, res) => {
      const query = valid(IncidentsQuery, req.query)
      const found = await readIncidents(projection, query)
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      res.set('Cache-Control', CACHE_CONTROL).json({
        incidents: page.map(({ incident }) => incident),
        next:
          last && found.length > page.length
            ? nextPage('/relay/incidents', query, [last.micros, last.incident.id])
            : null,
      })
    })
    .all(methodNotAllowed('GET'))
}

export const incidentPaths: ZodOpenApiPathsObject = {
  '/relay/incidents': {
    get: {
      operationId: 'listRelayIncidents',
      summary: 'What was not in order with the relay, from when to when; newest first',
      description: 'Role operator. Written by the watcher, also what happened while a database was away.',
      requestParams: { query: IncidentsQuery },
      responses: {
        '200': jsonAnswer('One page.', IncidentPage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
}
