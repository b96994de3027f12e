import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

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

/** Both consumers must stop, say why in log, readiness and metric, and apply nothing. */
async function expectStopped(projector: ProjectorInstance, reason: string) {
  await waitFor(`both consumers stop for ${reason}`, async () => {
    const { status, checks } = await projector.readiness()
    return (
      status === 503 && [checks.catalog, checks.audit].every((text) => text?.includes(`stopped: ${reason}`))
    )
  })
  const line = alarmLine(projector, reason)
  expect(line?.level).toBe('error')
  expect(line?.msg).toContain(`partition ${PARTITION}`)
  expect(line?.msg).toContain('docs/runbook.md')
  expect(await projector.metric('projector_alarms_total', { reason, consumer: 'catalog' })).toBe(1)
  expect(await projector.metric('projector_partition_stopped', { consumer: 'catalog' })).toBe(1)
}

test('a topic that was deleted and made anew is noticed before anything of it is applied', async () => {
  await applyAndEnd(5)
  await recreateTopic()
  await publish(7, 'second')
  const projector = await stage.start({ LOG_LEVEL: 'debug' })
  await expectStopped(projector, 'topic-recreated')
  // Not only at first sight: it looks again, in case a person has decided.
  for (const consumer of ['catalog', 'audit']) {
    await waitFor(`${consumer} has looked again`, () =>
      projector.log.some((line) => line.consumer === consumer && line.msg.includes('still stopped')),
    )
  }
  expect(await countNotes('second')).toBe(0)
})

test('a topic made anew that is shorter than what was applied stops its partition only', async () => {
  await applyAndEnd(5)
  await recreateTopic()
  await publish(2, 'second')
  const projector = await stage.start()
  await expectStopped(projector, 'topic-shorter')
  expect(await countNotes('second')).toBe(0)

  const elsewhere = eventOf({ noteId: uniqueNoteId('elsewhere') })
  await stage.produce([{ ...(await stage.messageOf(elsewhere)), partition: 0 }])
  await waitFor('another partition goes on', async () => (await countNotes('elsewhere')) === 1)
})

test('a topic that is made anew under a running projector is noticed', async () => {
  const projector = await stage.start()
  await projector.ready()
  await publish(5, 'first')
  await stage.caughtUp()
  await recreateTopic()
  await publish(3, 'second')
  await expectStopped(projector, 'topic-shorter')
  expect(await countNotes('second')).toBe(0)
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
  ['ahead', '9'],
  ['back', '0'],
])('a committed offset that a tool moved %s decides nothing', async (_where, offset) => {
  await applyAndEnd(5)
  await publish(4, 'next')
  for (const groupId of Object.values(stage.groups)) {
    await stage.admin.setOffsets({
      groupId,
      topic: stage.topic,
      partitions: [{ partition: PARTITION, offset }],
    })
  }
  const projector = await stage.start()
  await projector.ready()
  await stage.caughtUp()
  expect(await countNotes('next')).toBe(4)
  const [seen] = await stage.sql<{ records: number }>('SELECT count(*)::int AS records FROM audit.records')
  expect(seen?.records).toBe(9)
  expect(await projector.metric('projector_records_total', { outcome: 'duplicate' })).toBe(0)
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

test('the statement in the alarm lets the running projector go on, in a new incarnation', async () => {
  await applyAndEnd(5)
  await recreateTopic()
  await publish(3, 'second')
  const projector = await stage.start()
  await expectStopped(projector, 'topic-shorter')
  for (const line of projector.log.filter(
    ({ alarm, level }) => alarm === 'topic-shorter' && level === 'error',
  )) {
    const statement = /run as projection_owner: (UPDATE [^;]+);/.exec(line.msg)?.[1] ?? ''
    await stage.sql(statement)
  }
  await projector.ready()
  await stage.caughtUp()
  expect(await countNotes('second')).toBe(3)
  const incarnations = await stage.sql(
    'SELECT incarnation, count(*)::int AS records FROM audit.records GROUP BY 1 ORDER BY 1',
  )
  expect(incarnations).toEqual([
    { incarnation: 1, records: 5 },
    { incarnation: 2, records: 3 },
  ])
})
