import { z } from 'zod'

export const AcceptedTopic = z
  .object({
    actionId: z.uuid(),
    status: z
      .enum(['done', 'no-effect'])
      .meta({ description: 'no-effect: it is the topic that was recorded, and it holds all it held.' }),
    topic: z.string(),
    topicId: z.string().meta({ description: "Kafka's id of the topic that is accepted now." }),
    previousTopicId: z.string().nullable(),
    watermarksDeleted: z.int().meta({ description: 'Watermarks that were about the topic before.' }),
  })
  .meta({ id: 'AcceptedTopic' })
export type AcceptedTopic = z.infer<typeof AcceptedTopic>
