import type { Express } from 'express'
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { principalOf } from '../../../core/auth.ts'
import { methodNotAllowed } from '../../../core/http-app.ts'
import { type TopicFacts, TopicMissing, type TopicState } from '../../../core/kafka/topic-facts.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { jsonAnswer, problemAnswers } from '../../../core/openapi.ts'
import { Problem, unavailable } from '../../../core/problem.ts'
import { ActionBody, actionBody, actionOf } from '../action-request.ts'
import { ACTION_PROBLEMS, answerHeaders, CACHE_CONTROL } from '../documented.ts'
import type { Admit, ConsoleParts } from '../parts.ts'
import { acceptTopic } from './accept.ts'
import { AcceptedTopic } from './contract.ts'

/** What an operator decides about the topic. */
export function topicRoutes(
  app: Express,
  admit: Admit,
  { projection, kafka }: Pick<ConsoleParts, 'projection' | 'kafka'>,
): void {
  const { topic, facts } = kafka
  app
    .route('/relay/topic/accept')
    .post(...admit, ...actionBody, async (req, res) => {
      const { reason } = actionOf(ActionBody, req)
      const found = await stateOf(facts, topic)
      const principal = principalOf(req).id
      const accepted = await acceptTopic(projection, { topic, found, principal, reason })
      res.set('Cache-Control', CACHE_CONTROL).json(accepted)
    })
    .all(methodNotAllowed('POST'))
}

async function stateOf(facts: TopicFacts, topic: string): Promise<TopicState> {
  try {
    return await facts.state()
  } catch (error) {
    if (error instanceof TopicMissing)
      throw new Problem('not-found', `Kafka has no topic ${topic}. The setup (bin/up) makes it.`)
    if (error instanceof KafkaUnavailable) throw unavailable('Kafka does not answer.', error)
    throw error
  }
}

export const topicPaths: ZodOpenApiPathsObject = {
  '/relay/topic/accept': {
    post: {
      operationId: 'acceptRelayTopic',
      summary: 'Take the topic that Kafka has now, after it was made anew or has lost records',
      description:
        'Role operator. Deletes the watermarks about the topic before; the watcher then writes new ones. Replays nothing.',
      requestBody: { required: true, content: { 'application/json': { schema: ActionBody } } },
      responses: {
        '200': jsonAnswer('What was accepted.', AcceptedTopic, answerHeaders),
        ...problemAnswers(...ACTION_PROBLEMS, 'not-found'),
      },
    },
  },
}
