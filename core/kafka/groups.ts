import { createKafka, type KafkaOptions } from './client.ts'
import { KafkaUnavailable } from './topics.ts'

const CODES = { GROUP_ID_NOT_FOUND: 69, NON_EMPTY_GROUP: 68 } as const

/**
 * Deletes a consumer group with the offsets it has committed. Kafka refuses while it has members.
 * @returns gone: it is not there any more, or never was. in-use: it has members
 * @throws KafkaUnavailable
 */
export async function deleteGroup(options: KafkaOptions, groupId: string): Promise<'gone' | 'in-use'> {
  const admin = createKafka({ ...options, retries: 1 }).admin()
  try {
    await admin.connect()
    await admin.deleteGroups([groupId])
    return 'gone'
  } catch (error) {
    const codes = codesOf(error)
    if (codes.includes(CODES.GROUP_ID_NOT_FOUND)) return 'gone'
    if (codes.includes(CODES.NON_EMPTY_GROUP)) return 'in-use'
    throw new KafkaUnavailable(
      `The consumer group ${groupId} could not be deleted: ${(error as Error).message}`,
      { cause: error },
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** kafkajs wraps what the broker said about each group. */
function codesOf(error: unknown): number[] {
  const { groups = [], code } = error as { groups?: readonly { errorCode?: number }[]; code?: number }
  return [code, ...groups.map(({ errorCode }) => errorCode)].filter((each) => each !== undefined)
}
