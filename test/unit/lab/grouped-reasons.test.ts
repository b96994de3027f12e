import { expect, test } from 'vitest'
import { groupedReason } from '../../../lab/grouped-reasons.ts'

const message = (partition: number) =>
  `notes.revisions, partition ${partition}: it was deleted and made anew. Run notesctl; it goes on.`
const stopped = (partition: number, code = 'topic-recreated') =>
  `partition ${partition} stopped: ${code}: ${message(partition)}`

test('what is said of several partitions for one reason is said once', () => {
  expect(groupedReason([0, 1, 5].map((partition) => stopped(partition)).join('; '))).toBe(
    `partitions 0, 1, 5 stopped: topic-recreated; the first of them: ${message(0)}`,
  )
  const waits = [1, 2].map((partition) => `partition ${partition} waits: the registry is not reachable`)
  const looks = [3, 4].map((partition) => `partition ${partition} looks for its position`)
  expect(groupedReason([...waits, ...looks].join('; '))).toBe(
    'partitions 1, 2 wait: the registry is not reachable; partitions 3, 4 look for their position',
  )
})

test('different reasons stay apart, and one alone is as it was', () => {
  const both = [stopped(0), stopped(1, 'topic-shorter')].join('; ')
  expect(groupedReason(both)).toBe(both)
  expect(groupedReason(stopped(2))).toBe(stopped(2))
  expect(groupedReason('Kafka is not reachable; look again')).toBe('Kafka is not reachable; look again')
})
