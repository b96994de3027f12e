import type { Express } from 'express'
import { z } from 'zod'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { isTransientDatabaseError } from '../../../core/database.ts'
import { methodNotAllowed, traceparentOf } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { beginErasure } from './begin.ts'
import {
  Erasure,
  ErasureBody,
  ErasureDetail,
  ErasurePage,
  ErasureParams,
  ErasuresQuery,
  NOT_REACHED,
} from './contract.ts'
import { NEWEST_UNKNOWN } from './kafka-copy.ts'
import { unknownAtSource } from './lists.ts'
import { type ErasureParts, readKafkaCopy } from './steps.ts'
import { readErasure, readPage, shown } from './store.ts'

export type ErasureRouteParts = ErasureParts & Pick<ConsoleParts, 'erasures'>

/** Erasing the content of notes, and how far each erasure is. */
export function erasureRoutes(app: Express, admit: Admit, parts: ErasureRouteParts): void {
  const { source, projection, erasures } = parts
  app
    .route('/erasures')
    .get(...admit, async (req, res) => {
      const query = valid(ErasuresQuery, req.query)
      const found = await readPage(source, query)
      const page = found.slice(0, query.limit)
      const last = page.at(-1)
      const next =
        last && found.length > page.length ? nextPage('/erasures', query, [last.micros, last.noteId]) : null
      const unknown = await unknownAtSource(source, projection).catch((error: unknown) => {
        if (isTransientDatabaseError(error)) return null
        throw error
      })
      res
        .set('Cache-Control', CACHE_CONTROL)
        .json({ erasures: page.map(shown), next, unknownAtSource: unknown })
    })
    .post(...admit, ...actionBody, async (req, res) => {
      const { noteId, reason } = actionOf(ErasureBody, req)
      const request = { noteId, reason, principal: principalOf(req).id, traceparent: traceparentOf(req) }
      await beginErasure(source, erasures.schemaSubject, request)
      erasures.onBegun()
      const erasure = await readErasure(source, noteId)
      if (!erasure) throw new Error('the erasure that was begun is gone')
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/erasures/${noteId}` })
        .json(shown(erasure))
    })
    .all(methodNotAllowed('GET', 'POST'))
  app
    .route('/erasures/:noteId')
    .get(...admit, async (req, res) => {
      const { noteId } = valid(ErasureParams, req.params)
      const erasure = await readErasure(source, noteId)
      if (!erasure) throw new Problem('not-found', `Note ${noteId} was never erased.`)
      const kafka = await readKafkaCopy(parts, erasure).catch((error: unknown) => {
        if (isTransientDatabaseError(error)) return NEWEST_UNKNOWN
        throw error
      })
      res.set('Cache-Control', CACHE_CONTROL).json({ ...shown(erasure), kafka, notReached: NOT_REACHED })
    })
    .all(methodNotAllowed('GET'))
}

export const erasurePaths: ZodOpenApiPathsObject = {
  '/erasures': {
    get: {
      operationId: 'listErasures',
      summary: 'Notes whose content was erased, and how far each erasure is; newest first',
      description: 'Role operator.',
      requestParams: { query: ErasuresQuery },
      responses: {
        '200': jsonAnswer('One page.', ErasurePage, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
    post: {
      operationId: 'eraseNote',
      summary: 'Erase the content of every revision of a note, for good',
      description:
        'Role operator. At the source it is done when this answers: content, envelopes, digests and idempotency keys are gone, and a tombstone is the next revision. The projection follows in the background, also over a restart of this API. Readers get 410. A revision that is saved afterwards is new content. Asking again, with nothing saved since, changes nothing.',
      requestBody: { required: true, content: { 'application/json': { schema: ErasureBody } } },
      responses: {
        '202': jsonAnswer(
          'The erasure; ask its address how far it is.',
          Erasure,
          answerHeaders.extend({ Location: z.string().meta({ description: 'Address of the erasure.' }) }),
        ),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused'),
      },
    },
  },
  '/erasures/{noteId}': {
    get: {
      operationId: 'getErasure',
      summary:
        'How far the erasure of a note is, what Kafka still holds and until when, and what is not reached',
      description: 'Role operator.',
      requestParams: { path: ErasureParams },
      responses: {
        '200': jsonAnswer('The erasure.', ErasureDetail, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
  },
}
