import type { Express } from 'express'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { jsonBody, jsonOf } from '../../../core/json-body.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { CACHE_CONTROL } from '../documented.ts'
import type { Admit } from '../parts.ts'
import { DifferencesQuery, VerificationBody, VerificationParams } from './contract.ts'
import type { Verifications } from './runs.ts'

const BODY_BYTES = 4_096

/**
 * Comparisons of source and projection. A POST starts one and answers at once; it changes nothing and is no
 * action, so it needs no reason. Its outcome is asked for until it is there.
 */
export function verifyRoutes(app: Express, admit: Admit, verifications: Verifications): void {
  const runOf = (id: string) => {
    const run = verifications.find(id)
    if (run) return run
    throw new Problem('not-found', `There is no verification ${id}, or it was too long ago. Start another.`)
  }
  app
    .route('/verifications')
    .post(...admit, ...jsonBody(BODY_BYTES), (req, res) => {
      const { noteId, deep } = valid(VerificationBody, jsonOf(req), 'invalid-content')
      const verification = verifications.start({ noteId, deep })
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/verifications/${verification.id}` })
        .json(verification)
    })
    .all(methodNotAllowed('POST'))
  app
    .route('/verifications/:verificationId')
    .get(...admit, (req, res) => {
      const { verificationId } = valid(VerificationParams, req.params)
      res.set('Cache-Control', CACHE_CONTROL).json(runOf(verificationId).verification)
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/verifications/:verificationId/differences')
    .get(...admit, (req, res) => {
      const { verificationId } = valid(VerificationParams, req.params)
      const query = valid(DifferencesQuery, req.query)
      const { differences } = runOf(verificationId)
      const from = Number(query.after?.[0] ?? 0)
      const to = from + query.limit
      const path = `/verifications/${verificationId}/differences`
      res.set('Cache-Control', CACHE_CONTROL).json({
        differences: differences.slice(from, to),
        next: to < differences.length ? nextPage(path, query, [String(to)]) : null,
      })
    })
    .all(methodNotAllowed('GET'))
}
