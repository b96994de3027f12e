import type { AlarmCode, Condition } from './alarms.ts'
import { type Course, lastRead, type Reading, type RelayFacts, type SkippedRevisions } from './facts.ts'

const condition = (code: AlarmCode, reason: string): Condition => ({ code, reason })

/** What is wrong with the topic. Pure. */
export function topicConditions({ topic, course }: RelayFacts): readonly (Condition | undefined)[] {
  const reading = topic && lastRead(topic)
  const shrunk = course?.shrunkPartitions ?? []
  return [
    reading?.found === null
      ? condition('topic-missing', 'Kafka has no such topic: it was deleted, or never made.')
      : undefined,
    reading?.found && reading.recorded && reading.found.topicId !== reading.recorded.topicId
      ? condition(
          'topic-recreated',
          `The topic is another one than before: it was deleted and made anew (id ${reading.found.topicId}, recorded ${reading.recorded.topicId}${reading.found.clusterId === reading.recorded.clusterId ? '' : ', in another cluster'}). Records of before are gone.`,
        )
      : undefined,
    shrunk.length > 0
      ? condition(
          'topic-shrunk',
          `Partitions ${shrunk.join(', ')} end before what was in them: the topic was made anew or lost records.`,
        )
      : undefined,
  ]
}

/** The others are in relay_skipped, and in the plan of the recovery. */
const MAX_NAMED = 20

/** What the records show of the relay, and whether they were looked at. Pure. */
export function recordConditions({ course, source }: RelayFacts): readonly (Condition | undefined)[] {
  // A single look reads no keys, but the source says whether there are any.
  if (!course) return [lastRead(source)?.open.skipped ? SKIPPED_SOME : undefined]
  if (!course.skipped) return []
  return [relaySkipped(course.skipped), unchecked(course)]
}

const SKIPPED_SOME = condition(
  'relay-skipped',
  'The relay is past revisions without a record that any consumer saw.',
)

function relaySkipped(skipped: Reading<SkippedRevisions>): Condition | undefined {
  if (skipped.status === 'unreachable' || skipped.value.total === 0) return undefined
  const { keys, total } = skipped.value
  const named = keys.slice(0, MAX_NAMED).map(({ noteId, revision }) => `${noteId}:${revision}`)
  const more = total > named.length ? ` and ${total - named.length} more` : ''
  return condition(
    'relay-skipped',
    `The relay is past ${total === 1 ? 'a revision' : `${total} revisions`} without a record that any consumer saw: ${named.join(', ')}${more}.`,
  )
}

function unchecked({ skipped, unproven }: Course): Condition | undefined {
  if (skipped?.status === 'unreachable') {
    return condition(
      'unchecked',
      `What was found missing among the records could not be read: ${skipped.reason}.`,
    )
  }
  if (!unproven) return undefined
  return condition('unchecked', `The slot alone proves nothing now, and ${unproven}.`)
}
