import kafkajs from 'kafkajs'
import { createKafka, type KafkaOptions } from './client.ts'
import { KafkaUnavailable } from './topics.ts'

/**
 * Configs of a topic as they are in force, by name; one that the broker does not report is not in there.
 * @throws KafkaUnavailable after at most the limit; also when the topic does not exist
 */
export async function readTopicConfigs(
  kafka: KafkaOptions,
  topic: string,
  names: readonly string[],
  limitMs = 3_000,
): Promise<ReadonlyMap<string, string>> {
  const admin = createKafka({ ...kafka, retries: 0 }).admin()
  const { promise: limit, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs)
  try {
    const described = admin.connect().then(() =>
      admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [...names] }],
      }),
    )
    const { resources } = await Promise.race([described, limit])
    const entries = resources[0]?.configEntries ?? []
    return new Map(entries.map((entry) => [entry.configName, entry.configValue]))
  } catch (error) {
    throw new KafkaUnavailable(`The configs of ${topic} could not be read: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
    void admin.disconnect().catch(() => undefined)
  }
}
