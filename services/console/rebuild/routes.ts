import type { Express, Request } from 'express'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed } from '../../../core/http-app.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { nextPage } from '../../../core/pages.ts'
import { Problem } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { ActionBody, actionBody, actionOf } from '../action-request.ts'
import { CACHE_CONTROL } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { readLiveGeneration } from '../positions/read.ts'
import { PlanQuery, RebuildBody, RebuildParams, RebuildsQuery } from './contract.ts'
import { beginDrop } from './drop.ts'
import type { RebuildParts } from './parts.ts'
import { readPlan } from './read-plan.ts'
import type { RebuildRunner } from './runner.ts'
import { show } from './show.ts'
import { startText } from './start.ts'
import { begin, readRebuild, readRebuilds, type Stored } from './store.ts'
import { type Direction, switchGeneration } from './switch.ts'

export type RebuildRouteParts = RebuildParts & Pick<ConsoleParts, 'rebuilds'>

/** Second generations of a consumer: planning, building, making live, dropping. */
export function rebuildRoutes(app: Express, admit: Admit, parts: RebuildRouteParts): void {
  const { projection } = parts
  const runner: RebuildRunner = parts.rebuilds
  const shown = async (rebuild: Stored) =>
    show(parts, rebuild, await topicNow(parts), (id, remaining) => runner.paceOf(id, remaining))
  app
    .route('/rebuild-plan')
    .get(...admit, async (req, res) => {
      const query = valid(PlanQuery, req.query)
      const { shown: plan } = await readPlan(parts, query)
      res.set('Cache-Control', CACHE_CONTROL).json(plan)
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/rebuilds')
    .get(...admit, async (req, res) => {
      const query = valid(RebuildsQuery, req.query)
      const found = await readRebuilds(projection, query)
      const page = found.slice(0, query.limit)
      const topic = await topicNow(parts)
      const rebuilds = await Promise.all(
        page.map((each) => show(parts, each, topic, (id, remaining) => runner.paceOf(id, remaining))),
      )
      const last = page.at(-1)
      res.set('Cache-Control', CACHE_CONTROL).json({
        rebuilds,
        next:
          last && found.length > page.length ? nextPage('/rebuilds', query, [last.micros, last.id]) : null,
      })
    })
    .post(...admit, ...actionBody, async (req, res) => {
      const rebuild = await beginRebuild(parts, req)
      runner.wake()
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/rebuilds/${rebuild.id}` })
        .json(await shown(rebuild))
    })
    .all(methodNotAllowed('GET', 'POST'))
  app
    .route('/rebuilds/:rebuildId')
    .get(...admit, async (req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await shown(await rebuildOf(parts, req)))
    })
    .all(methodNotAllowed('GET'))
  for (const direction of ['switch', 'rollback'] as const) {
    app
      .route(`/rebuilds/:rebuildId/${direction}`)
      .post(...admit, ...actionBody, async (req, res) => {
        const done = await turn(parts, req, direction, runner.signal)
        res
          .set('Cache-Control', CACHE_CONTROL)
          .json({ ...done, rebuild: await shown(await rebuildOf(parts, req)) })
      })
      .all(methodNotAllowed('POST'))
  }
  app
    .route('/rebuilds/:rebuildId/drop')
    .post(...admit, ...actionBody, async (req, res) => {
      const { reason } = actionOf(ActionBody, req)
      const rebuild = await rebuildOf(parts, req)
      await beginDrop(projection, rebuild, { principal: principalOf(req).id, reason })
      runner.wake()
      res
        .status(202)
        .set({ 'Cache-Control': CACHE_CONTROL, Location: `/rebuilds/${rebuild.id}` })
        .json(await shown(await rebuildOf(parts, req)))
    })
    .all(methodNotAllowed('POST'))
}

async function rebuildOf({ projection }: RebuildRouteParts, req: Request): Promise<Stored> {
  const { rebuildId } = valid(RebuildParams, req.params)
  const rebuild = await readRebuild(projection, rebuildId)
  if (!rebuild) throw new Problem('not-found', `There is no rebuild ${rebuildId}.`)
  return rebuild
}

/** What is stored is answered also while Kafka is away. */
async function topicNow({ topic }: RebuildRouteParts): Promise<TopicState | null> {
  try {
    return await topic.state()
  } catch (error) {
    if (error instanceof KafkaUnavailable) return null
    throw error
  }
}

async function beginRebuild(parts: RebuildRouteParts, req: Request): Promise<Stored> {
  const { reason, consumer, from } = actionOf(RebuildBody, req)
  const { plan, topic } = await readPlan(parts, { consumer, from })
  if (plan.refused) throw new Problem('action-refused', plan.refused)
  const fromText = startText(from)
  const start = new Map(plan.partitions.map((each) => [each.partition, each.start]))
  const id = await begin(
    parts.projection,
    {
      action: 'rebuild.begin',
      target: consumer,
      principal: principalOf(req).id,
      reason,
      details: { consumer, from: fromText, start: Object.fromEntries(start), toRead: plan.toRead },
    },
    {
      consumer,
      fromKind: from.kind,
      fromText,
      start,
      topic: parts.kafka.topic,
      topicState: topic,
      notes: plan.cannotContain,
    },
  )
  const rebuild = id && (await readRebuild(parts.projection, id))
  if (!rebuild) throw new Problem('action-refused', 'Another rebuild was begun at the same moment.')
  return rebuild
}

async function turn(parts: RebuildRouteParts, req: Request, direction: Direction, signal: AbortSignal) {
  const { reason } = actionOf(ActionBody, req)
  const rebuild = await rebuildOf(parts, req)
  const { pair, ...done } = await switchGeneration(
    { ...parts, topic: parts.kafka.topic },
    {
      rebuild,
      direction,
      liveGeneration: await readLiveGeneration(parts.projection),
      principal: principalOf(req).id,
      reason,
    },
    signal,
  )
  return { ...done, from: pair.live, to: pair.candidate }
}
