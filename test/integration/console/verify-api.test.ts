import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureTopics } from '../../../core/kafka/topics.ts'
import { createLogger } from '../../../core/log.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'
import { openConsole, type ScratchConsole } from './instance.ts'
import { type TwoSides, twoSides } from './verify-sides.ts'

const lab = useLab()
let sides: TwoSides
let api: ScratchConsole
const topic = uniqueNoteId('verify')
beforeAll(async () => {
  await ensureTopics(
    {
      brokers: lab.addresses.kafkaBrokers.split(','),
      clientId: 'test',
      logger: createLogger('test', 'silent'),
    },
    [{ name: topic, partitions: 1, replicationFactor: 1, configs: {} }],
  )
  sides = await twoSides(lab)
  api = await openConsole(lab, { KAFKA_TOPIC: topic }, sides.databases)
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await sides?.[Symbol.asyncDispose]()
})

const finished = (started: { json: { id: string } }) =>
  waitFor('the verification to end', async () => {
    const { json } = await api.ask(`/verifications/${started.json.id}`)
    return json.status !== 'running' && json
  })

test('POST starts one and answers at once; its outcome and its differences, page by page, are asked for', async () => {
  const saved = []
  for (let count = 0; count < 5; count += 1)
    saved.push(await sides.save(uniqueNoteId('page'), { withIntent: false }))
  const started = await api.ask('/verifications', { json: {} })
  expect([started.status, started.headers.get('location')]).toEqual([
    202,
    `/verifications/${started.json.id}`,
  ])
  const { status, result } = await finished(started)
  expect([status, result.equal, result.counts['note-only'], result.counts['catalog-missing']]).toEqual([
    'done',
    false,
    5,
    5,
  ])
  const listed: { class: string; noteId: string }[] = []
  let pages = 0
  for (let path = `/verifications/${started.json.id}/differences?limit=3`; path; pages += 1) {
    const { json } = await api.ask(path)
    listed.push(...json.differences)
    path = json.next
  }
  expect([pages, listed.length]).toEqual([4, 10])
  expect(new Set(listed.map(({ noteId }) => noteId))).toEqual(new Set(saved.map(({ noteId }) => noteId)))

  const ended = await notesctl(lab, ['verify', '--json'], { env: { CONSOLE_URL: api.url } })
  expect(ended.code, ended.stderr).toBe(8)
  const lines = ended.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toHaveLength(11)
  const order = lines.slice(0, -1).map((line) => `${line.noteId} ${line.revision} ${line.class}`)
  expect(order).toEqual(order.toSorted())
  expect(lines.at(-1).result.counts['note-only']).toBe(5)
  const text = await notesctl(lab, ['verify'], { env: { CONSOLE_URL: api.url } })
  expect(text.stdout).toContain(`note-only  ${saved[0]?.noteId}:1  no-intent`)
  expect(text.stdout).toContain('10 differences: 5 note-only, 5 catalog-missing.')
})

test('notesctl verify ends with 0 when nothing differs', async () => {
  const saved = await sides.save(uniqueNoteId('good'))
  await sides.deliver(saved)
  const { code, stdout } = await notesctl(lab, ['verify', '--note', saved.noteId], {
    env: { CONSOLE_URL: api.url },
  })
  expect([code, stdout]).toEqual([0, expect.stringContaining(`Equal: ${saved.noteId}.`)])
})

test('a note that neither side has is not equal but unknown: code 3', async () => {
  const { code, stdout, stderr } = await notesctl(lab, ['verify', '--note', uniqueNoteId('nowhere')], {
    env: { CONSOLE_URL: api.url },
  })
  expect([code, stdout, stderr]).toEqual([3, '', expect.stringContaining('Neither the source nor')])
  const gaps = await notesctl(lab, ['gaps', '--note', uniqueNoteId('nowhere')], {
    env: { CONSOLE_URL: api.url },
  })
  expect([gaps.code, gaps.stderr]).toEqual([3, expect.stringContaining('Neither the source nor')])
})

test('what is wrong is refused, what is not there is 404, what is too much is 429', async () => {
  expect((await api.ask('/verifications', { json: { noteId: "a'b" } })).status).toBe(422)
  expect((await api.ask('/verifications', { json: { fast: true } })).status).toBe(422)
  expect((await api.ask(`/verifications/${randomUUID()}`)).status).toBe(404)
  expect((await api.ask(`/verifications/${randomUUID()}/differences`)).status).toBe(404)
  expect((await api.ask('/verifications', { json: {}, roles: ['editor'] })).status).toBe(403)
  await sides.save(uniqueNoteId('late')) // Waited for, so that these run until the allowed delay is over.
  const first = await api.ask('/verifications', { json: {} })
  const second = await api.ask('/verifications', { json: {} })
  const third = await api.ask('/verifications', { json: {} })
  expect([first.status, second.status, third.status]).toEqual([202, 202, 429])
  expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0)
})

test('a database that is away: the verification says so and finds nothing; notesctl ends with 5', async () => {
  const away = { KAFKA_TOPIC: topic, PROJECTION_VERIFIER_DATABASE_URL: 'postgres://x:x@127.0.0.1:9/x' }
  await using other = await openConsole(lab, away, sides.databases)
  const { code, stdout, stderr } = await notesctl(lab, ['verify'], { env: { CONSOLE_URL: other.url } })
  expect([code, stdout, stderr]).toEqual([5, '', expect.stringContaining('Nothing is known')])
})
