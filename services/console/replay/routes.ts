import type { Express } from 'express'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed, spanOf, traceparentOf } from '../../../core/http-app.ts'
import { Problem } from '../../../core/problem.ts'
import { ATTRIBUTE } from '../../../core/tracing/attributes.ts'
import { valid } from '../../../core/validate.ts'
import { ActionBody, actionBody, actionOf } from '../action-request.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import { CACHE_CONTROL } from '../documented.ts'
import type { Admit } from '../parts.ts'
import {
  KeysQuery,
  PlanBody,
  type Refused,
  ReplayBody,
  ReplayParams,
  type ReplayPlan,
  summaryOf,
} from './contract.ts'
import { choose, whatIsInTheWay } from './plan.ts'
import type { ReplayParts } from './runner.ts'
import { showReplay } from './show.ts'
import { beginReplay, endReplay, readReplay } from './store.ts'

export type ReplayRouteParts = ReplayParts & { readonly onReplayBegun: () => void }

const SHOWN_KEYS = 100
const FIRST_PAGE = { after: 0, limit: SHOWN_KEYS }

/** Sending stored intents again: what it would be, doing it, and what came of it. */
export function replayRoutes(app: Express, admit: Admit, parts: ReplayRouteParts): void {
  const { source } = parts
  const shown = async (id: string, page: KeysQuery = FIRST_PAGE) => {
    const replay = await showReplay(parts, id, page)
    if (!replay) throw new Problem('not-found', `There is no replay ${id}.`)
    return replay
  }
  app
    .route('/replays')
    .post(...admit, ...actionBody, async (req, res) => {
      const body = actionOf(ReplayBody, req)
      const by = { principal: principalOf(req).id, traceparent: traceparentOf(req) }
      const id = await begin(parts, body, by)
      spanOf(req)?.setAttribute(ATTRIBUTE.actionId, id)
      parts.onReplayBegun()
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/replays/${id}` })
        .json(await shown(id))
    })
    .all(methodNotAllowed('POST'))
  app
    .route('/replays/plan')
    .post(...admit, ...actionBody, async (req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await planOf(parts, actionOf(PlanBody, req)))
    })
    .all(methodNotAllowed('POST'))
  app
    .route('/replays/:replayId')
    .get(...admit, async (req, res) => {
      const { replayId } = valid(ReplayParams, req.params)
      res.set('Cache-Control', CACHE_CONTROL).json(await shown(replayId, valid(KeysQuery, req.query)))
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/replays/:replayId/cancel')
    .post(...admit, ...actionBody, async (req, res) => {
      const { replayId } = valid(ReplayParams, req.params)
      const { reason } = actionOf(ActionBody, req)
      if (!(await readReplay(source, replayId)))
        throw new Problem('not-found', `There is no replay ${replayId}.`)
      const action = await recordRequested(source, {
        action: 'relay.cancel-replay',
        target: replayId,
        principal: principalOf(req).id,
        reason,
      })
      const ended = await endReplay(source, replayId, 'cancelled')
      await recordFinished(source, action, { status: ended ? 'done' : 'no-effect', result: { replayId } })
      res.set('Cache-Control', CACHE_CONTROL).json(await shown(replayId))
    })
    .all(methodNotAllowed('POST'))
}

async function planOf(parts: ReplayRouteParts, body: PlanBody): Promise<ReplayPlan> {
  const chosen = await choose(parts, body)
  const blocked = await whatIsInTheWay(parts)
  return {
    count: chosen.replayable.length,
    keys: chosen.replayable
      .slice(0, SHOWN_KEYS)
      .map(({ noteId, revision, eventId }) => ({ noteId, revision, eventId })),
    refused: summaryOf(chosen.refused),
    relay: {
      ready: blocked === undefined,
      why: blocked?.why ?? null,
      explanation: blocked?.explanation ?? 'The connector reads the recorded slot.',
    },
    auditHasRead: chosen.auditHasRead,
  }
}

/** @returns the id of the new replay. @throws Problem naming what is in the way; then nothing was done */
async function begin(
  parts: ReplayRouteParts,
  body: ReplayBody,
  { principal, traceparent }: { readonly principal: string; readonly traceparent: string },
): Promise<string> {
  const { source } = parts
  const { revisions, fromAuditGap, keysPerSecond, reason } = body
  const { replayable, refused, auditHasRead } = await choose(parts, body)
  if (fromAuditGap && auditHasRead !== true) {
    throw new Problem(
      'action-refused',
      auditHasRead === false
        ? 'Audit has not read the topic to its end yet; what is missing is known only then. If this stays: bin/notesctl positions list'
        : 'Kafka does not answer, so nobody knows whether audit has read everything. Nothing was done.',
      { extra: { why: auditHasRead === false ? 'audit-behind' : 'kafka-away' } },
    )
  }
  if (replayable.length === 0) throw nothingToReplay(refused)
  const blocked = await whatIsInTheWay(parts)
  if (blocked) {
    throw new Problem('action-refused', `Nothing was sent. ${blocked.explanation}`, {
      extra: { why: blocked.why },
    })
  }
  const selection = { revisions, fromAuditGap, refused: summaryOf(refused) }
  const [key] = replayable
  const action = {
    action: 'relay.replay' as const,
    target:
      key && replayable.length === 1 ? `${key.noteId}:${key.revision}` : `${replayable.length} revisions`,
    principal,
    reason,
    details: { ...selection, count: replayable.length, keysPerSecond, traceparent },
  }
  return beginReplay(source, action, { selection, keysPerSecond, keys: replayable })
}

function nothingToReplay(refused: readonly Refused[]): Problem {
  const [first] = refused
  if (!first) {
    return new Problem('action-refused', 'No intent is missing a record: there is nothing to replay.', {
      extra: { why: 'nothing-missing' },
    })
  }
  const { noteId, revision, why, explanation } = first
  const text = `${noteId}:${revision}: ${explanation}`
  if (refused.every((one) => one.why === 'no-revision'))
    return new Problem('not-found', text, { extra: { why } })
  return new Problem('action-refused', `Nothing was sent. ${text}`, {
    extra: { why, refused: summaryOf(refused) },
  })
}
