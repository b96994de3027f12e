import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, PARTITIONS, type Stage } from './stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openStage(useLab())
})
afterEach(() => stage?.[Symbol.asyncDispose]())

const PARTITION = 1
const publish = async (count: number, prefix: string) => {
  const events = Array.from({ length: count }, () => eventOf({ noteId: uniqueNoteId(prefix) }))
  const messages = await Promise.all(events.map((event) => stage.messageOf(event)))
  await stage.produce(messages.map((message) => ({ ...message, partition: PARTITION })))
  return events
}
const countNotes = async (prefix: string) => {
  const [row] = await stage.sql<{ count: number }>(
    'SELECT count(*)::int FROM catalog.notes WHERE note_id LIKE $1',
    [`${prefix}-%`],
  )
  return row?.count
}
const alarmLine = (projector: ProjectorInstance, alarm: string) =>
  projector.log.find((line) => line.alarm === alarm && line.consumer === 'catalog' && line.level === 'error')

/** Applies `count` records with a projector that then ends. */
async function applyAndEnd(count: number) {
  const projector = await stage.start()
  await projector.ready()
  await publish(count, 'first')
  await stage.caughtUp()
  expect(await projector.end()).toBe(0)
}

async function recreateTopic() {
  await stage.admin.deleteTopics({ topics: [stage.topic] })
  await waitFor('the topic is gone', async () => !(await stage.admin.listTopics()).includes(stage.topic))
  await waitFor('the topic is there again', async () => {
    await stage.createTopic()
    return (await stage.admin.listTopics()).includes(stage.topic)
  })
}

const ALL = Array.from({ length: PARTITIONS }, (_, partition) => partition)

/** Both consumers must stop, say why in log, readiness, metric and table, and apply nothing. */
async function expectStopped(projector: ProjectorInstance, reason: string, partitions = [PARTITION]) {
  await waitFor(`both consumers stop for ${reason}`, async () => {
    const { status, checks } = await projector.readiness()
    return (
      status === 503 &&
      [checks.catalog, checks.audit].every((text) =>
        partitions.every((partition) => text?.includes(`partition ${partition} stopped: ${reason}`)),
      )
    )
  })
  for (const partition of partitions) {
    const line = projector.log.find(
      ({ alarm, consumer, ...facts }) =>
        alarm === reason && consumer === 'catalog' && facts.partition === partition,
    )
    expect(line?.level).toBe('error')
    expect(line?.run).toBe(`notesctl positions accept catalog ${partition} --generation 1 --reason TEXT`)
    expect(line?.msg).toContain('docs/runbook.md')
  }
  const count = partitions.length
  expect(await projector.metric('projector_alarms_total', { reason, consumer: 'catalog' })).toBe(count)
  expect(await projector.metric('projector_partition_stopped', { consumer: 'catalog' })).toBe(count)
  const recorded = await stage.sql(
    'SELECT consumer, array_agg(partition ORDER BY partition) AS partitions FROM stopped_partitions WHERE reason = $1 GROUP BY 1 ORDER BY 1',
    [reason],
  )
  expect(recorded).toEqual(['audit', 'catalog'].map((consumer) => ({ consumer, partitions })))
}

test('a topic that was deleted and made anew is noticed before anything of it is applied', async () => {
  await applyAndEnd(5)
  await recreateTopic()
  await publish(7, 'second')
  const projector = await stage.start({ LOG_LEVEL: 'debug' })
  await expectStopped(projector, 'topic-recreated', ALL)
  // Not only at first sight: it looks again, in case a person has decided.
  for (const consumer of ['catalog', 'audit']) {
    await waitFor(`${consumer} has looked again`, () =>
      projector.log.some((line) => line.consumer === consumer && line.msg.includes('still stopped')),
    )
  }
  expect(await countNotes('second')).toBe(0)
})

test('another record where the last one was applied is noticed also while the topic has the same id', async () => {
  await applyAndEnd(5)
  for (const consumer of ['catalog', 'audit']) {
    await stage.sql(
      `UPDATE ${consumer}.progress SET last_event_id = gen_random_uuid() WHERE partition = $1`,
      [PARTITION],
    )
  }
  await publish(2, 'second')
  await expectStopped(await stage.start(), 'topic-recreated')
  expect(await countNotes('second')).toBe(0)
})

test('a partition that lost its end is stopped, and the others go on', async () => {
  await applyAndEnd(5)
  for (const consumer of ['catalog', 'audit']) {
    await stage.sql(`UPDATE ${consumer}.progress SET next_offset = 8 WHERE partition = $1`, [PARTITION])
  }
  const projector = await stage.start()
  await expectStopped(projector, 'topic-shorter')
  const elsewhere = eventOf({ noteId: uniqueNoteId('elsewhere') })
  await stage.produce([{ ...(await stage.messageOf(elsewhere)), partition: 0 }])
  await waitFor('another partition goes on', async () => (await countNotes('elsewhere')) === 1)
})

test('a topic that is made anew while a projector runs and has nothing to do is noticed', async () => {
  const projector = await stage.start()
  await projector.ready()
  await publish(5, 'first')
  await stage.caughtUp()
  await recreateTopic()
  await expectStopped(projector, 'topic-recreated', ALL)
})

test('a topic that is made anew, and longer than before, between two fetches: nothing of it is applied', async () => {
  const projector = await stage.start()
  await projector.ready()
  await publish(5, 'first')
  await stage.caughtUp()
  projector.signal('SIGSTOP')
  await recreateTopic()
  await publish(9, 'second')
  projector.signal('SIGCONT')
  await expectStopped(projector, 'topic-recreated', ALL)
  expect(await countNotes('second')).toBe(0)
  const [seen] = await stage.sql<{ records: number }>('SELECT count(*)::int AS records FROM audit.records')
  expect(seen?.records).toBe(5)
})

test('a topic that is gone is called that, not an unreachable Kafka', async () => {
  const projector = await stage.start()
  await projector.ready()
  await stage.admin.deleteTopics({ topics: [stage.topic] })
  await waitFor('readiness says it', async () => {
    const { checks } = await projector.readiness()
    return [checks.catalog, checks.audit].every((text) => text?.includes(`no topic ${stage.topic}`))
  })
  expect(await projector.metric('projector_alarms_total', { reason: 'topic-missing' })).toBe(2)
})

test('records deleted before they were seen stop the partition, and the alarm names their offsets', async () => {
  await applyAndEnd(5)
  await publish(5, 'unseen')
  await stage.admin.deleteTopicRecords({
    topic: stage.topic,
    partitions: [{ partition: PARTITION, offset: '8' }],
  })
  const projector = await stage.start()
  await expectStopped(projector, 'records-gone')
  expect(alarmLine(projector, 'records-gone')?.msg).toContain('from 5 to 7')
  expect(await countNotes('unseen')).toBe(0)
})

test('records deleted after they were applied are no reason to stop', async () => {
  await applyAndEnd(5)
  await publish(2, 'next')
  await stage.admin.deleteTopicRecords({
    topic: stage.topic,
    partitions: [{ partition: PARTITION, offset: '5' }],
  })
  const projector = await stage.start()
  await projector.ready()
  await stage.caughtUp()
  expect(await countNotes('next')).toBe(2)
})

test.each([
  ['ahead is alarmed', '9', 2],
  ['back is no alarm', '1', 0],
])(
  'a committed offset that a tool moved %s, decides nothing and is set right',
  async (_where, offset, alarms) => {
    await applyAndEnd(5)
    await publish(4, 'next')
    const partitions = [{ partition: PARTITION, offset }]
    for (const groupId of Object.values(stage.groups)) {
      await stage.admin.setOffsets({ groupId, topic: stage.topic, partitions })
    }
    const projector = await stage.start()
    await projector.ready()
    await stage.caughtUp()
    expect(await countNotes('next')).toBe(4)
    const [seen] = await stage.sql<{ records: number }>('SELECT count(*)::int AS records FROM audit.records')
    expect(seen?.records).toBe(9)
    expect(await projector.metric('projector_records_total', { outcome: 'duplicate' })).toBe(0)
    const reason = 'committed-offset-moved'
    expect(await projector.metric('projector_alarms_total', { reason })).toBe(alarms)
    const said = 'is 9, but catalog has applied only what lies below offset 5'
    if (alarms > 0) expect(alarmLine(projector, reason)?.msg).toContain(said)
    for (const groupId of Object.values(stage.groups)) {
      await waitFor(`the offset of ${groupId} is right again`, async () => {
        const [committed] = await stage.admin.fetchOffsets({ groupId, topics: [stage.topic] })
        return committed?.partitions.find((item) => item.partition === PARTITION)?.offset === '9'
      })
    }
  },
)

test('what a killed projector had not committed yet is no alarm', async () => {
  const killed = await stage.start()
  await killed.ready()
  await publish(5, 'first')
  await stage.caughtUp()
  await killed.end('SIGKILL')
  const projector = await stage.start()
  await projector.ready()
  expect(projector.log.filter(({ alarm }) => alarm !== undefined)).toEqual([])
})

test('progress from another Kafka cluster stops the partition', async () => {
  await applyAndEnd(5)
  for (const consumer of ['catalog', 'audit']) {
    await stage.sql(`UPDATE ${consumer}.progress SET cluster_id = 'another' WHERE partition = $1`, [
      PARTITION,
    ])
  }
  await expectStopped(await stage.start(), 'other-cluster')
})
