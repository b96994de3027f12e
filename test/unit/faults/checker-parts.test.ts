import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { check } from '../../faults/checker/check.ts'
import { Findings } from '../../faults/checker/findings.ts'
import { Staircase } from '../../faults/checker/staircase.ts'
import { type HistoryEntry, HistoryWriter, readHistory, startRunClock } from '../../faults/history.ts'
import { A2_EVENT } from './planted.ts'
import { change, entryOf } from './plants.ts'
import { story } from './story.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'history-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function allOf(file: string): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = []
  for await (const entry of readHistory(file)) entries.push(entry)
  return entries
}

describe('a history', () => {
  test('is read as it was written, in order, across chunks', async () => {
    const file = path.join(folder, 'whole.jsonl')
    const clock = startRunClock()
    const entries = Array.from({ length: 2_000 }, (_, id): HistoryEntry => {
      const startMs = clock.now()
      const fault = { fault: 'kill', target: 'kafka', startMs, endMs: clock.now(), recoveredAfterMs: null }
      return { kind: 'fault', id, ...fault }
    })
    const writer = new HistoryWriter(file)
    for (const entry of entries) writer.record(entry)
    await writer.close()
    expect(writer.entries).toBe(2_000)
    expect(await allOf(file)).toEqual(entries)
  })

  test('is never written over another one', async () => {
    const file = path.join(folder, 'taken.jsonl')
    writeFileSync(file, '')
    await expect(new HistoryWriter(file).close()).rejects.toThrow('EEXIST')
  })

  test('with a line that is none of its entries is refused, and the line named', async () => {
    const file = path.join(folder, 'cut.jsonl')
    writeFileSync(file, '{"kind":"run","seed":"1","startedAt":1}\n{"kind":"read","startMs":')
    await expect(allOf(file)).rejects.toThrow('cut.jsonl:2')
  })
})

describe('the checker', () => {
  test('takes entries that changed places a little, and refuses a history out of order', async () => {
    const near = story()
    const last = near.history.length - 1
    near.history.splice(last - 1, 2, ...near.history.slice(last - 1).reverse())
    expect((await check(near.facts, near.history)).total).toBe(0)

    const far = story()
    const first = far.history.find((entry) => entry.kind === 'read')
    if (first) far.history.push(first)
    for (const entry of far.history.slice(2, -1)) if (entry.kind !== 'run') entry.endMs += 5_000
    await expect(check(far.facts, far.history)).rejects.toThrow('order')
  })

  test('does not take a clock that was set back for a confirmation before its time', async () => {
    const planted = story()
    planted.history = planted.history.filter(({ kind }) => kind !== 'publication')
    const poll = entryOf(planted, 'event', ({ eventId }) => eventId === A2_EVENT)
    planted.facts.records = planted.facts.records
      .filter(({ eventId }) => eventId !== A2_EVENT)
      .concat(
        planted.facts.records
          .filter(({ eventId }) => eventId === A2_EVENT)
          .map((record) => ({ ...record, brokerTimeMs: poll.endedAt + 40 })),
      )
    planted.facts.records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
    const counts = async () => (await check(planted.facts, planted.history)).counts
    expect(await counts()).toEqual({ 'confirmed-too-early': 1 })
    const before = planted.history[planted.history.indexOf(poll) - 1]
    if (before && 'endedAt' in before) before.endedAt = poll.endedAt + 60
    expect(await counts()).toEqual({})
  })

  test('judges without watched effects, and says that it did', async () => {
    const planted = story()
    planted.facts.effects = undefined
    const report = await check(planted.facts, planted.history)
    expect(report.total).toBe(0)
    expect(report.checked.effects).toBeNull()
    change(planted, 'catalog', { noteId: 'a' }, { revision: 1 })
    expect((await check(planted.facts, planted.history)).total).toBeGreaterThan(0)
  })
})

test('findings keep the text of 50 of a kind and count all', () => {
  const findings = new Findings()
  for (let i = 0; i < 120; i++) findings.add('false-claim', `note:${i}`, 'It is not so.')
  findings.add('bytes-differ', '0/1', 'Other bytes.')
  expect(findings.violations).toHaveLength(51)
  expect(findings.counts).toEqual({ 'false-claim': 120, 'bytes-differ': 1 })
  expect(findings.total).toBe(121)
})

test('a staircase knows what was the highest before a moment, and takes a clock set back as standing still', () => {
  const stairs = new Staircase()
  stairs.add(10, 1)
  stairs.add(20, 3)
  stairs.add(15, 4)
  stairs.add(30, 2)
  expect([5, 10, 11, 20, 21, 99].map((ms) => stairs.before(ms))).toEqual([0, 0, 1, 1, 4, 4])
  expect([1, 2, 4, 5].map((revision) => stairs.timeOf(revision))).toEqual([10, 20, 20, undefined])
})
