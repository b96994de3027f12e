import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { TopicMissing, type TopicState } from '../../../core/kafka/topic-facts.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { CONSUMERS, groupIdOf } from '../../../core/position.ts'
import { Problem, unavailable } from '../../../core/problem.ts'
import { valid } from '../../../core/validate.ts'
import { actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL, ROUTE_PROBLEMS } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { acceptPositions } from './accept.ts'
import { AcceptBody, AcceptedPositions, AcceptParams, Positions } from './contract.ts'
import { positionsOf } from './list.ts'
import { readLiveGeneration, readProgress, readStopped } from './read.ts'

type Parts = Pick<ConsoleParts, 'projection' | 'kafka'>

/** How far each consumer is beside what Kafka has, and what an operator decides when the two contradict. */
export function positionRoutes(app: Express, admit: Admit, parts: Parts): void {
  const { topic, facts } = parts.kafka
  app
    .route('/positions')
    .get(...admit, async (_req, res) => {
      res.set('Cache-Control', CACHE_CONTROL).json(await listPositions(parts))
    })
    .all(methodNotAllowed('GET'))
  app
    .route('/positions/:consumer/accept')
    .post(...admit, ...actionBody, async (req, res) => {
      const { consumer } = valid(AcceptParams, req.params)
      const { reason, partition, generation } = actionOf(AcceptBody, req)
      const askKafka = () => mustAnswer(topic, () => facts.state())
      const principal = principalOf(req).id
      const request = { consumer, generation, partition, topic, askKafka, principal, reason }
      res.set('Cache-Control', CACHE_CONTROL).json(await acceptPositions(parts.projection, request))
    })
    .all(methodNotAllowed('POST'))
}

async function mustAnswer<T>(topic: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof TopicMissing) {
      throw new Problem('not-found', `Kafka has no topic ${topic}. The setup (bin/up) makes it.`)
    }
    if (error instanceof KafkaUnavailable) throw unavailable('Kafka does not answer.', error)
    throw error
  }
}

async function listPositions(parts: Parts): Promise<Positions> {
  const { projection, kafka } = parts
  const { topic, groupPrefix } = kafka
  const generation = await readLiveGeneration(projection)
  const stopped = await readStopped(projection, topic)
  const stored = await Promise.all(
    CONSUMERS.map(async (consumer) => ({
      consumer,
      generation: consumer === 'catalog' ? generation : 1,
      progress: await readProgress(projection, consumer, topic),
    })),
  )
  const groups = stored.flatMap(({ consumer, progress, generation: own }) =>
    [...new Set([own, ...progress.map((row) => row.generation)])].map((each) =>
      groupIdOf(groupPrefix, consumer, each),
    ),
  )
  const asked = await askKafka(kafka, groups)
  return {
    topic,
    kafka: asked.state && { clusterId: asked.state.clusterId, topicId: asked.state.topicId },
    kafkaProblem: asked.problem,
    positions: stored.flatMap((facts) =>
      positionsOf({
        ...facts,
        topic,
        stopped,
        kafka: asked.state,
        committed: (each, partition) =>
          asked.committed.get(groupIdOf(groupPrefix, facts.consumer, each))?.get(partition) ?? null,
      }),
    ),
  }
}

type Asked = {
  readonly state: TopicState | null
  readonly committed: ReadonlyMap<string, ReadonlyMap<number, number | null>>
  readonly problem: string | null
}

/** What the database knows is answered also while Kafka is away. */
async function askKafka({ topic, facts }: Parts['kafka'], groups: readonly string[]): Promise<Asked> {
  try {
    const state = await facts.state()
    const committed = new Map<string, ReadonlyMap<number, number | null>>()
    for (const group of groups) committed.set(group, await facts.committed(group))
    return { state, committed, problem: null }
  } catch (error) {
    if (!(error instanceof KafkaUnavailable)) throw error
    const problem = error instanceof TopicMissing ? `Kafka has no topic ${topic}.` : 'Kafka does not answer.'
    return { state: null, committed: new Map(), problem }
  }
}

export const positionPaths: ZodOpenApiPathsObject = {
  '/positions': {
    get: {
      operationId: 'listPositions',
      summary: 'How far each consumer is in each partition, beside what Kafka has',
      description: 'Role operator. What the projection knows is answered also while Kafka is away.',
      responses: {
        '200': jsonAnswer('Every partition of every consumer.', Positions, answerHeaders),
        ...problemAnswers(...ROUTE_PROBLEMS),
      },
    },
  },
  '/positions/{consumer}/accept': {
    post: {
      operationId: 'acceptPositions',
      summary: 'Go on, in partitions that are stopped, from the first record that Kafka has now',
      description:
        'Role operator. For a topic that was made anew, truncated or moved; of partitions that the projector has found stopped, which it does within seconds while it runs. Nothing is applied twice by it, and nothing that is gone comes back: look what is missing before and after.',
      requestParams: { path: AcceptParams },
      requestBody: { required: true, content: { 'application/json': { schema: AcceptBody } } },
      responses: {
        '200': jsonAnswer(
          'What was accepted; nothing, when the projector has found nothing stopped.',
          AcceptedPositions,
          answerHeaders,
        ),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found'),
      },
    },
  },
}
