import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed, traceparentOf } from '../../../core/http-app.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit } from '../parts.ts'
import { CreatedIntent, EFFECTS, IntentBody, IntentParams, IntentPreview, REFUSALS } from './contract.ts'
import { createIntent } from './create.ts'
import { type IntentParts, previewIntent } from './preview.ts'

/** Intents for revisions that have none: what would be published, and deciding it. */
export function intentRoutes(app: Express, admit: Admit, parts: IntentParts): void {
  const previewed = async (noteId: string, revision: number) => {
    const found = await previewIntent(parts, noteId, revision)
    if (!found) throw new Problem('not-found', `The source has no revision ${noteId}:${revision}.`)
    return found
  }
  app
    .route('/intents/:noteId/:revision')
    .get(...admit, async (req, res) => {
      const { noteId, revision } = valid(IntentParams, req.params)
      const { preview } = await previewed(noteId, revision)
      res.set('Cache-Control', CACHE_CONTROL).json(preview)
    })
    .post(...admit, ...actionBody, async (req, res) => {
      const { noteId, revision } = valid(IntentParams, req.params)
      const { reason, envelopeSha256 } = actionOf(IntentBody, req)
      const { preview, envelope } = await previewed(noteId, revision)
      if (preview.refused || !envelope) throw refused(preview.refused ?? 'no-schema')
      if (preview.envelopeSha256 !== envelopeSha256) throw changed()
      const request = { reason, principal: principalOf(req).id, traceparent: traceparentOf(req) }
      const created = await createIntent(parts.source, { preview, envelope }, request)
      if (created.outcome === 'exists') throw refused('exists')
      if (created.outcome !== 'created') throw changed()
      const answer: CreatedIntent = {
        actionId: created.actionId,
        noteId,
        revision,
        eventId: preview.eventId,
        envelopeSha256,
        effect: EFFECTS[preview.effect],
      }
      res.status(201).set('Cache-Control', CACHE_CONTROL).json(answer)
    })
    .all(methodNotAllowed('GET', 'POST'))
}

const refused = (why: keyof typeof REFUSALS): Problem =>
  new Problem('action-refused', `Nothing was made. ${REFUSALS[why]}`, { extra: { why } })

const changed = (): Problem =>
  new Problem(
    'action-refused',
    'Nothing was made: what would be published now is not what the digest names. Look at the preview again.',
    { extra: { why: 'changed' } },
  )

export const intentPaths: ZodOpenApiPathsObject = {
  '/intents/{noteId}/{revision}': {
    get: {
      operationId: 'previewIntent',
      summary: 'What making the missing intent of a revision would publish',
      description: 'Role operator. Changes nothing. Works only where both databases answer.',
      requestParams: { path: IntentParams },
      responses: {
        '200': jsonAnswer('The preview.', IntentPreview, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS, 'not-found'),
      },
    },
    post: {
      operationId: 'createIntent',
      summary: 'Make the missing intent of a revision, so that it is published',
      description:
        'Role operator. A decision of a person, never made by the product: the envelope of the preview is published as a new event. Refused, with the reason in `why`, where there is an intent, the content was erased or changed, or a consumer knows another event for the revision.',
      requestParams: { path: IntentParams },
      requestBody: { required: true, content: { 'application/json': { schema: IntentBody } } },
      responses: {
        '201': jsonAnswer('The intent was made; the relay brings it.', CreatedIntent, answerHeaders),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found', 'action-refused'),
      },
    },
  },
}
