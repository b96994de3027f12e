import type { Express, RequestHandler } from 'express'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed, spanOf } from '../../../core/http-app.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { ATTRIBUTE } from '../../../core/tracing/attributes.ts'
import { valid } from '../../../core/validate.ts'
import { ActionBody, actionBody, actionOf } from '../action-request.ts'
import { CACHE_CONTROL } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { decideAbout } from './act.ts'
import { type EntryPage, QuarantineParams, QuarantineQuery } from './contract.ts'
import type { Verb } from './decide.ts'
import { readEntries, readWhole } from './read.ts'

/** Records that a consumer could not apply: what they are, and what an operator decides about them. */
export function quarantineRoutes(
  app: Express,
  admit: Admit,
  { projection }: Pick<ConsoleParts, 'projection'>,
): void {
  app
    .route('/quarantine')
    .get(...admit, async (req, res) => {
      const query = valid(QuarantineQuery, req.query)
      const found = await readEntries(projection, query)
      const records = found.slice(0, query.limit)
      const last = records.at(-1)
      const next = last && found.length > records.length ? nextPage('/quarantine', query, [last.id]) : null
      const page: EntryPage = { records, next }
      res.set('Cache-Control', CACHE_CONTROL).json(page)
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/quarantine/:quarantineId')
    .get(...admit, async (req, res) => {
      const { quarantineId } = valid(QuarantineParams, req.params)
      const record = await readWhole(projection, quarantineId)
      if (!record) throw new Problem('not-found', `There is no record ${quarantineId} in quarantine.`)
      res.set('Cache-Control', CACHE_CONTROL).json(record)
    })
    .all(methodNotAllowed('GET'))
  const act =
    (verb: Verb): RequestHandler =>
    async (req, res) => {
      const { quarantineId: id } = valid(QuarantineParams, req.params)
      const { reason } = actionOf(ActionBody, req)
      const decided = await decideAbout(projection, { verb, id, reason, principal: principalOf(req).id })
      spanOf(req)?.setAttribute(ATTRIBUTE.actionId, decided.actionId)
      res
        .status(decided.status === 'requested' ? 202 : 200)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/actions/${decided.actionId}` })
        .json(decided)
    }
  for (const verb of ['redrive', 'discard'] as const) {
    app
      .route(`/quarantine/:quarantineId/${verb}`)
      .post(...admit, ...actionBody, act(verb))
      .all(methodNotAllowed('POST'))
  }
}
