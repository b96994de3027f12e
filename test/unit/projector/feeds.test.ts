import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Pool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import type { Feed } from '../../../services/projector/feed.ts'
import { Feeds } from '../../../services/projector/feeds.ts'
import { feedName, type GenerationRow } from '../../../services/projector/which-feeds.ts'
import { waitFor } from '../../support/wait.ts'

type Fake = Feed & { name: string; isLive: () => boolean; fail: (error: Error) => void; stopped: boolean }

/** What the tables say; undefined: the database does not answer. */
let tables: { live: number; rows: readonly GenerationRow[] } | undefined
let started: Fake[]
let left: string[]
let failures: Error[]
let feeds: Feeds

const pool = {
  query: async () => {
    if (!tables) throw new Error('away')
    const { live, rows } = tables
    return { rows: rows.map((row) => ({ ...row, catalogLive: live })) }
  },
} as unknown as Pool

beforeEach(() => {
  tables = { live: 1, rows: [row('catalog', 1), row('audit', 1)] }
  started = []
  left = []
  failures = []
  feeds = new Feeds({
    pool,
    start: (id, isLive, fail) => {
      const fake: Fake = {
        name: feedName(id),
        pool,
        isLive,
        fail,
        stopped: false,
        problem: () => (fake.name === 'catalog-2' ? 'in trouble' : undefined),
        stop: async () => {
          fake.stopped = true
        },
      }
      started.push(fake)
      return fake
    },
    fed: () => undefined,
    left: async (id) => void left.push(feedName(id)),
    fail: (error) => failures.push(error),
    logger: createLogger('test', 'silent'),
  })
})
afterEach(() => feeds.stop())

function row(consumer: 'catalog' | 'audit', generation: number, state: GenerationRow['state'] = 'fed') {
  return { consumer, generation, state } as const
}
const namesOf = (list: readonly Fake[]) => list.map(({ name }) => name)
const startedNames = (...names: string[]) =>
  waitFor(`started: ${names}`, () => names.every((name) => namesOf(started).includes(name)))
const readiness = async () =>
  Object.fromEntries(await Promise.all(feeds.checks.map(async ({ name, check }) => [name, await check()])))

test('a generation is fed once it is in the tables, and no more when it is being dropped; the rest goes on', async () => {
  feeds.start()
  await startedNames('catalog', 'audit')
  tables = { live: 1, rows: [row('catalog', 1), row('catalog', 2), row('audit', 1)] }
  await startedNames('catalog-2')
  tables = { live: 1, rows: [row('catalog', 1), row('catalog', 2, 'dropping'), row('audit', 1)] }
  await waitFor('it left', () => left.length > 0)
  expect(left).toEqual(['catalog-2'])
  expect(namesOf(started.filter(({ stopped }) => stopped))).toEqual(['catalog-2'])
  expect(namesOf(started)).toEqual(['catalog', 'audit', 'catalog-2'])
})

test('readiness is about the live generation: of another one only once it is live', async () => {
  feeds.start()
  tables = { live: 1, rows: [row('catalog', 1), row('catalog', 2), row('audit', 1)] }
  await startedNames('catalog', 'catalog-2')
  expect(await readiness()).toMatchObject({ catalog: undefined, audit: undefined })
  tables = { ...tables, live: 2 }
  await waitFor('the switch is seen', async () => (await readiness()).catalog !== undefined)
  expect(await readiness()).toMatchObject({ catalog: 'in trouble', audit: undefined })
  expect(namesOf(started.filter(({ isLive }) => isLive())).toSorted()).toEqual(['audit', 'catalog-2'])
  expect(started).toHaveLength(3)
})

test('without the database nothing is fed and readiness is red; what is fed goes on without it', async () => {
  const answer = tables
  tables = undefined
  feeds.start()
  expect(await readiness().catch(() => 'red')).toBe('red')
  expect((await feeds.checks[0]?.check())?.slice(0, 20)).toBe('it is not known yet ')
  tables = answer
  await startedNames('catalog', 'audit')
  tables = undefined
  expect(started.some(({ stopped }) => stopped)).toBe(false)
})

test('a failure of the live generation ends the process, one of another only its own feed', async () => {
  feeds.start()
  tables = { live: 1, rows: [row('catalog', 1), row('catalog', 2), row('audit', 1)] }
  await startedNames('catalog', 'catalog-2')
  const candidate = started.find(({ name }) => name === 'catalog-2')
  candidate?.fail(new Error('stuck'))
  await waitFor('its feed ends', () => left.length > 0)
  expect([left, failures]).toEqual([['catalog-2'], []])
  // What the ended one still says is about nobody.
  candidate?.fail(new Error('once more'))
  started.find(({ name }) => name === 'catalog')?.fail(new Error('stuck as well'))
  expect(failures.map(({ message }) => message)).toEqual(['stuck as well'])
})
