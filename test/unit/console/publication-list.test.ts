import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Pool } from '../../../core/database.ts'
import { listPublications } from '../../../services/console/publications/list.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const never = new Promise<never>(() => undefined)
/** A database that has more than a page of index entries, and says nothing of single publications. */
const entries = (row: (at: number) => object): Pool =>
  ({
    query: async (asked: string | object, values: readonly unknown[]) =>
      typeof asked === 'string'
        ? { rows: Array.from({ length: Number(values.at(-1)) }, (_, at) => row(at)) }
        : { rows: [] },
  }) as never
const query = { consumer: 'catalog', limit: 50 } as const

test('a database that hangs is waited for once a page, whatever the number of entries', async () => {
  const asked = vi.fn(() => never)
  const source = entries((at) => ({
    note_id: `n${at}`,
    revision: 1,
    transaction_id: '1',
    event_id: '6f1f3d0a-2c0b-4c58-9f0f-000000000001',
    is_checked: false,
  }))
  const page = listPublications(
    { source, projection: { query: asked } as never, readApiUrl: 'http://127.0.0.1:1' },
    { ...query, state: 'intent-pending' },
    '00',
  )
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await page).toMatchObject({ publications: [], examined: 1_000, unknown: 1_000 })
  expect(asked).toHaveBeenCalledTimes(1)
})

test('a read API that gives no answer is not asked for every note of a page', async () => {
  const asked = vi.fn(() => Promise.reject(new Error('no answer')))
  vi.stubGlobal('fetch', asked)
  const projection = entries((at) => ({ note_id: `n${at}`, revision: 1 }))
  const source = { query: async () => ({ rows: [] }) } as never
  const page = listPublications(
    { source, projection, readApiUrl: 'http://127.0.0.1:1' },
    { ...query, state: 'projection-current' },
    '00',
  )
  await vi.advanceTimersByTimeAsync(60_000)
  expect((await page).publications).toEqual([])
  expect(asked.mock.calls.length).toBeLessThan(20)
})
