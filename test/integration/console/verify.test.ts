import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withClient } from '../../../database/connection.ts'
import { ensureSlot } from '../../../database/slot.ts'
import { verify } from '../../../services/console/verify/verification.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { TOPIC, TOPIC_ID, type TwoSides, twoSides } from './verify-sides.ts'

const lab = useLab()
let sides: TwoSides
let slotName: string
beforeAll(async () => {
  sides = await twoSides(lab)
  slotName = uniqueNoteId('verify').replaceAll('-', '_')
  await ensureSlot({
    ownerUrl: sides.databases.source.urlOf('notes_owner'),
    replicationUrl: sides.databases.source.urlOf('notes_debezium'),
    slotName,
  })
})
afterAll(() => sides?.[Symbol.asyncDispose]())

/** What audit has read: the topic is as long as a test says. */
const END = 10
const topicThatEndsAt =
  (end: number, topicId = TOPIC_ID) =>
  async () => ({
    topicId,
    partitions: new Map([[0, { earliest: 0, end }]]),
  })
const readTopic = topicThatEndsAt(END)

const run = (
  scope: { noteId?: string; deep?: boolean } = {},
  options: Partial<Parameters<typeof verify>[0]> = {},
) =>
  verify(
    { ...sides.pools, topic: TOPIC, slotName, readTopic, hasMismatch: async () => false, ...options },
    { noteId: scope.noteId, deep: scope.deep ?? false },
    new AbortController().signal,
  )

/** As if the relay read on to the end of the WAL all the time. */
async function whileRelaying<T>(work: () => Promise<T>): Promise<T> {
  let isOver = false
  const relaying = (async () => {
    while (!isOver) {
      await sides.source.query('SELECT pg_replication_slot_advance($1, pg_current_wal_insert_lsn())', [
        slotName,
      ])
      await sleep(50)
    }
  })()
  try {
    return await work()
  } finally {
    isOver = true
    await relaying
  }
}

const short = ({ differences }: Awaited<ReturnType<typeof run>>) =>
  differences.map((item) => [item.class, item.noteId, item.revision, item.projectionRevision, item.because])

describe('what differs', () => {
  const name = (suffix: string) => `case-${suffix}`
  beforeAll(async () => {
    for (let count = 0; count < 400; count += 1) await sides.deliver(await sides.save(uniqueNoteId()))
    await sides.save(name('note-only'), { withIntent: false })
    await sides.deliver(await sides.save(name('no-content')))
    await sides.source.query('UPDATE notes SET revision = 9 WHERE note_id = $1', [name('no-content')])

    const lost = await sides.save(name('skipped'))
    await sides.inbox(lost)
    await sides.show(lost)

    const missing = await sides.save(name('catalog-missing'))
    await sides.record(missing)

    await sides.deliver(await sides.save(name('catalog-behind')))
    await sides.record(await sides.save(name('catalog-behind')))
    await sides.record(await sides.save(name('catalog-behind')))

    const known = await sides.save(name('catalog-ahead'))
    await sides.deliver(known)
    await sides.show({ ...known, revision: 2 })

    await sides.deliver(await sides.save(name('content-differs')), 'Another body')

    const one = await sides.save(name('record-unknown'))
    await sides.deliver(one)
    const strange = (digit: string) => `00000000-0000-4000-8000-${digit.repeat(12)}` as const
    await sides.record({ ...one, eventId: strange('1') })
    await sides.inbox({ ...one, revision: 7, eventId: strange('2') })
    await sides.record({ ...one, revision: 8, eventId: strange('3') })
    await sides.inbox({ ...one, revision: 8, eventId: strange('3') })
    await sides.record({ noteId: null, revision: null, eventId: strange('4') })
    await sides.record({ noteId: name('record-unknown'), revision: 9, eventId: null })
    await sides.record({ noteId: null, revision: null, eventId: null }) // Names nothing: quarantine has it.
    await sides.record({ ...one, revision: null }) // A mangled copy of an event that is known.
    await sides.auditReached(END)
  })

  test('every class is found, exactly those keys and nothing else', { timeout: 120_000 }, async () => {
    const verified = await whileRelaying(() => run())
    const expected = [
      ['note-only', name('note-only'), 1, null, 'no-intent'],
      ['catalog-missing', name('note-only'), 1, null, null],
      ['note-only', name('no-content'), 9, null, 'no-content'],
      ['skipped', name('skipped'), 1, null, 'relay-passed'],
      ['catalog-missing', name('catalog-missing'), 1, null, null],
      ['catalog-behind', name('catalog-behind'), 3, 1, null],
      ['catalog-ahead', name('catalog-ahead'), 1, 2, null],
      ['content-differs', name('content-differs'), 1, null, null],
      ['record-unknown', name('record-unknown'), 1, null, 'in-audit'],
      ['record-unknown', name('record-unknown'), 7, null, 'in-catalog'],
      ['record-unknown', name('record-unknown'), 8, null, 'in-audit-and-catalog'],
      ['record-unknown', null, null, null, 'in-audit'],
      ['record-unknown', name('record-unknown'), 9, null, 'in-audit'],
    ]
    expect(short(verified).sort()).toEqual(expected.sort())
    const { result, differences } = verified
    expect([result.equal, result.complete, result.inFlight]).toEqual([false, true, 0])
    expect(result.counts['record-unknown']).toBe(5)
    expect(result.ranges.opened).toBeLessThan(result.ranges.all)
    const behind = differences.find((item) => item.class === 'catalog-behind')
    expect(behind?.sourceDigest).not.toBe(behind?.projectionDigest)
    expect(behind?.committedAt).toMatch(/Z$/)
  })

  test('one note: only its own differences, and nothing of the others', async () => {
    expect(short(await whileRelaying(() => run({ noteId: name('skipped') })))).toEqual([
      ['skipped', name('skipped'), 1, null, 'relay-passed'],
    ])
    const { result } = await run({ noteId: name('catalog-ahead').slice(0, -1) })
    expect([result.equal, result.compared.notes]).toEqual([true, 0])
  })

  test('an intent is pending, not skipped, while the relay is not past it', async () => {
    await sides.save(uniqueNoteId()) // The WAL goes on.
    expect(short(await run({ noteId: name('skipped') }))).toEqual([
      ['intent-pending', name('skipped'), 1, null, 'relay-behind'],
    ])
  })

  test('skipped, when the connector cannot start at the slot that somebody moved', async () => {
    await sides.save(uniqueNoteId())
    expect(short(await run({ noteId: name('skipped') }, { hasMismatch: async () => true }))).toEqual([
      ['skipped', name('skipped'), 1, null, 'slot-mismatch'],
    ])
  })

  test('nor while audit has not read what the relay brought, or nobody can say', {
    timeout: 60_000,
  }, async () => {
    const because = async (readTopicThen: typeof readTopic) => {
      const { differences } = await whileRelaying(() =>
        run({ noteId: name('skipped') }, { readTopic: readTopicThen }),
      )
      return differences.map((item) => [item.class, item.because])
    }
    expect(await because(topicThatEndsAt(END + 1))).toEqual([['intent-pending', 'audit-behind']])
    // Cut, or made anew and longer than audit's progress in the one before.
    expect(await because(topicThatEndsAt(END - 1))).toEqual([['intent-pending', 'audit-behind']])
    expect(await because(topicThatEndsAt(END, '00000000-0000-4000-8000-0000000000bb'))).toEqual([
      ['intent-pending', 'audit-behind'],
    ])
    expect(await because(() => Promise.reject(new Error('away')))).toEqual([
      ['intent-pending', 'topic-unreadable'],
    ])
  })

  test('without the recorded slot nothing comes by itself: skipped, and why', async () => {
    const gone = await run({ noteId: name('skipped') }, { slotName: 'no_such_slot' })
    expect(short(gone)).toEqual([['skipped', name('skipped'), 1, null, 'slot-missing']])
    await sides.source.query('UPDATE relay_slots SET identity_lsn = identity_lsn + 1')
    const foreign = await run({ noteId: name('skipped') })
    await sides.source.query('UPDATE relay_slots SET identity_lsn = identity_lsn - 1')
    expect(foreign.differences[0]?.because).toBe('slot-foreign')
  })
})

test('--deep sees content that a stored digest hides', async () => {
  const saved = await sides.save(uniqueNoteId('deep'))
  const { rows } = await sides.source.query('SELECT content_digest FROM note_revisions WHERE note_id = $1', [
    saved.noteId,
  ])
  const { rows: definition } = await sides.projection.query(
    `SELECT pg_get_functiondef('public.content_digest'::regproc) AS text`,
  )
  await sides.projection.query(
    `CREATE OR REPLACE FUNCTION public.content_digest(title text, url text, type text, body text, visibility text)
     RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '${rows[0].content_digest}' $$`,
  )
  await sides.deliver(saved, 'Not what was saved')
  await sides.projection.query(definition[0].text)
  expect((await run({ noteId: saved.noteId })).result.equal).toBe(true)
  expect(short(await run({ noteId: saved.noteId, deep: true }))).toEqual([
    ['content-differs', saved.noteId, 1, null, null],
  ])
})

test('what is in flight is waited for, and is no difference', { timeout: 60_000 }, async () => {
  const saved = await sides.save(uniqueNoteId('flying'))
  const running = run({ noteId: saved.noteId })
  let isOver = false
  void running.finally(() => {
    isOver = true
  })
  // Another statement on the same server; the verification has had its first look by the time it is answered twice.
  for (let count = 0; count < 20; count += 1) await sides.source.query('SELECT pg_sleep(0.05)')
  expect(isOver).toBe(false)
  await sides.deliver(saved)
  const { result } = await running
  expect(result.equal).toBe(true)
  expect(result.inFlight).toBe(2) // no record, and not in the catalog
  expect(result.waitedMs).toBeGreaterThan(0)
})

test('a note that is written all the time is always a little behind, and equal', {
  timeout: 60_000,
}, async () => {
  const noteId = uniqueNoteId('hot')
  await sides.deliver(await sides.save(noteId))
  let isOver = false
  const writing = (async () => {
    const underWay = []
    while (!isOver) {
      underWay.push(await sides.save(noteId))
      if (underWay.length > 5) await sides.deliver(underWay.shift() as never)
    }
    for (const saved of underWay) await sides.deliver(saved)
  })()
  const verified = []
  for (let count = 0; count < 5; count += 1) verified.push(await run({ noteId }))
  isOver = true
  await writing
  expect(verified.map(({ result, differences }) => [result.equal, differences])).toEqual(
    verified.map(() => [true, []]),
  )
  expect(verified.some(({ result }) => result.inFlight > 0)).toBe(true)
})

test('the roles that compare can change nothing', async () => {
  for (const [url, statement] of [
    [sides.databases.source.urlOf('notes_verifier'), 'UPDATE notes SET revision = revision'],
    [sides.databases.projection.urlOf('projection_verifier'), 'DELETE FROM audit.records'],
  ] as const) {
    await withClient(url, 'test', async (client) => {
      await expect(client.query(statement)).rejects.toMatchObject({ code: '42501' })
    })
  }
})
