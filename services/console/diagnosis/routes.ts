import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { NoteParams, PublicationParams } from '../publications/contract.ts'
import { Diagnosis, PublicationDiagnosis } from './contract.ts'
import { diagnosePipeline } from './pipeline.ts'
import { diagnosePublication } from './publication.ts'

/** What is not in order, from facts, with who has the next step and the command for it. */
export function diagnosisRoutes(app: Express, admit: Admit, parts: ConsoleParts): void {
  app
    .route('/diagnosis')
    .get(...admit, async (_req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await diagnosePipeline(parts))
    })
    .all(methodNotAllowed('GET'))
  const ofPublication = async (noteId: string, revision?: number) => {
    const diagnosis = await diagnosePublication(parts, noteId, revision)
    if (diagnosis) return diagnosis
    const key = revision === undefined ? `a note ${noteId}` : `${noteId}:${revision}`
    throw new Problem('not-found', `Nothing knows ${key}; source and projection both answered.`)
  }
  app
    .route('/diagnosis/:noteId')
    .get(...admit, async (req, res) => {
      const { noteId } = valid(NoteParams, req.params)
      res.set('Cache-Control', CACHE_CONTROL).json(await ofPublication(noteId))
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/diagnosis/:noteId/:revision')
    .get(...admit, async (req, res) => {
      const { noteId, revision } = valid(PublicationParams, req.params)
      res.set('Cache-Control', CACHE_CONTROL).json(await ofPublication(noteId, revision))
    })
    .all(methodNotAllowed('GET'))
}

export const diagnosisPaths: ZodOpenApiPathsObject = {
  '/diagnosis': {
    get: {
      operationId: 'diagnosePipeline',
      summary:
        'The whole pipeline: counts by state, lags, and what is not in order with cause, owner and command',
      description:
        'Role operator. Changes nothing and scans nothing. Answers also when servers are away: what only they know is said to be unknown.',
      responses: {
        '200': jsonAnswer('What was read, and what was recognised from it.', Diagnosis, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/diagnosis/{noteId}': {
    get: {
      operationId: 'diagnoseNewestPublication',
      summary: 'The same as below for the newest revision of a note',
      description: 'Role operator.',
      requestParams: { path: NoteParams },
      responses: {
        '200': jsonAnswer('What was recognised.', PublicationDiagnosis, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
  '/diagnosis/{noteId}/{revision}': {
    get: {
      operationId: 'diagnosePublication',
      summary: 'One publication: what holds it up or contradicts it, with cause, owner and command',
      description:
        'Role operator. Changes nothing. Made from its causal chain, from everything that claims the revision in the projection, from the parts that could hold it up, and from what readers get, also past caches. Answers also when servers are away.',
      requestParams: { path: PublicationParams },
      responses: {
        '200': jsonAnswer('What was recognised.', PublicationDiagnosis, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
