import type { Consumption, Prepared } from './consumption.ts'
import { Misplaced } from './failure.ts'

/**
 * Reads records as `prepare` does, and asks Kafka once more what topic this is: between two fetches it may
 * have been made anew, and then these are other records than those that follow what was applied.
 * @param topicId the topic's id at some moment after it was called, that is after the records were fetched
 * @param expected of the topic that progress is about
 * @throws Misplaced when it is another topic: the position has to be found again
 */
export async function prepareOfSameTopic<P extends Prepared>(
  prepare: Consumption<P>['prepare'],
  records: Parameters<Consumption<P>['prepare']>[0],
  topicId: () => Promise<string>,
  expected: string | undefined,
): Promise<readonly P[]> {
  const [prepared, found] = await Promise.all([prepare(records), topicId()])
  if (found !== expected) throw new Misplaced(`The topic's id is ${found} now, and was ${expected}.`)
  return prepared
}
