import { z } from 'zod'
import { CONSUMERS, type StopReason } from '../../../core/position.ts'
import { ActionBody } from '../action-request.ts'

export const Consumer = z.enum(CONSUMERS)

const StopReasons = z
  .enum([
    'other-cluster',
    'topic-shorter',
    'topic-recreated',
    'records-gone',
  ] as const satisfies readonly StopReason[])
  .nullable()

const Offset = z.int().min(0)

export const PartitionPosition = z
  .object({
    consumer: Consumer,
    generation: z.int(),
    partition: z.int(),
    state: z.enum(['in-order', 'stopped', 'not-begun', 'unknown']).meta({
      description:
        'in-order: nothing contradicts the position. stopped: nothing is applied until a person decides. not-begun: nothing was ever applied. unknown: Kafka does not answer.',
    }),
    reason: StopReasons.meta({ description: 'Why it is stopped.' }),
    explanation: z.string().nullable().meta({ description: 'For a person: what was found, what to run.' }),
    stoppedSince: z.iso.datetime().nullable().meta({
      description:
        'When the projector found it; null while only this answer says so: it cannot be accepted before.',
    }),
    incarnation: z.int().nullable().meta({ description: 'Which life of the topic progress is about.' }),
    nextOffset: Offset.nullable().meta({ description: 'Everything below it is applied. It alone decides.' }),
    lastEventId: z.uuid().nullable(),
    lastRecordAt: z.iso.datetime().nullable().meta({ description: 'Time of the last applied record.' }),
    committedOffset: Offset.nullable().meta({
      description: "The group's offset in Kafka, for tools: it follows within seconds and decides nothing.",
    }),
    earliestOffset: Offset.nullable().meta({ description: 'The first record that Kafka still has.' }),
    endOffset: Offset.nullable().meta({ description: 'What the next record will get.' }),
    clusterId: z.string().nullable().meta({ description: 'The Kafka cluster that progress is about.' }),
    topicId: z.uuid().nullable().meta({ description: 'The topic that progress is about.' }),
  })
  .meta({ id: 'PartitionPosition', description: 'How far one consumer is in one partition, beside Kafka.' })
export type PartitionPosition = z.infer<typeof PartitionPosition>

export const Positions = z
  .object({
    topic: z.string(),
    kafka: z
      .object({ clusterId: z.string(), topicId: z.uuid() })
      .nullable()
      .meta({ description: 'What Kafka has now; null when it does not answer or has no such topic.' }),
    kafkaProblem: z.string().nullable(),
    positions: z.array(PartitionPosition),
  })
  .meta({ id: 'Positions' })
export type Positions = z.infer<typeof Positions>

export const AcceptParams = z.object({ consumer: Consumer })

export const AcceptBody = ActionBody.extend({
  generation: z.int().min(1).max(2_147_483_647).optional().meta({
    description: 'Of this generation. Without it: of the live one of catalog, of the first of audit.',
    example: 1,
  }),
  partition: z.int().min(0).max(100_000).optional().meta({
    description: 'Only this one. Without it: every partition of the consumer that is stopped.',
    example: 3,
  }),
})

const Accepted = z.object({
  partition: z.int(),
  reason: z.string(),
  before: Offset.nullable().meta({ description: 'nextOffset before; null: nothing was ever applied.' }),
  nextOffset: Offset.meta({ description: 'Where it goes on: the first record that Kafka has now.' }),
  incarnation: z.int(),
})
export type Accepted = z.infer<typeof Accepted>

export const AcceptedPositions = z
  .object({
    actionId: z.uuid(),
    status: z
      .enum(['done', 'no-effect'])
      .meta({ description: 'no-effect: the projector has found no such partition stopped.' }),
    consumer: Consumer,
    generation: z.int(),
    accepted: z.array(Accepted),
  })
  .meta({ id: 'AcceptedPositions' })
export type AcceptedPositions = z.infer<typeof AcceptedPositions>
