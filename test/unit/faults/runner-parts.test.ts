import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contentDigest } from '../../../core/content-digest.ts'
import { NoteContent, NoteId } from '../../../core/note.ts'
import { isForGood } from '../../faults/clients/editors.ts'
import { EditFactory } from '../../faults/clients/edits.ts'
import { KnownNotes } from '../../faults/clients/known-notes.ts'
import { durationMs, durationText } from '../../faults/options.ts'
import { Random } from '../../faults/random.ts'
import { markdownOf, type RecoveredFault, recoveryOf, succeeded } from '../../faults/report.ts'

describe('random numbers', () => {
  test('depend on the seed alone; a fork does not depend on what was drawn before', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(50), (seed, drawn) => {
        const [a, b] = [new Random(seed), new Random(seed)]
        for (let i = 0; i < drawn; i++) b.next()
        expect(b.fork('x').next()).toBe(a.fork('x').next())
      }),
    )
  })

  test('stay within their bounds, and reach them', () => {
    const random = new Random('bounds')
    const drawn = new Set(Array.from({ length: 500 }, () => random.between(3, 7)))
    expect([...drawn].toSorted()).toEqual([3, 4, 5, 6, 7])
  })

  test('a weight of 0 is never drawn', () => {
    const random = new Random('weights')
    const drawn = new Set(Array.from({ length: 200 }, () => random.weighted({ a: 1, b: 0, c: 2 })))
    expect([...drawn].toSorted()).toEqual(['a', 'c'])
  })
})

describe('edits', () => {
  test('are valid, no two have the same content, and the request says what the digest says', () => {
    const factory = new EditFactory(new Random('edits'), 'f')
    const edits = Array.from({ length: 300 }, () => factory.make('ada', factory.newNoteId(), 1))
    expect(new Set(edits.map(({ digest }) => digest)).size).toBe(300)
    for (const { text, digest, noteId, revision } of edits) {
      const sent = JSON.parse(text)
      expect([sent.noteId, sent.revision]).toEqual([noteId, revision])
      expect(NoteId.safeParse(noteId).success).toBe(true)
      const { noteId: _noteId, revision: _revision, ...content } = sent
      expect(contentDigest(NoteContent.parse(content))).toBe(digest)
    }
  })

  test('what may change by itself is tried again, what is refused for good is not', () => {
    expect([503, 500, 429, 408].map(isForGood)).toEqual([false, false, false, false])
    expect([400, 409, 413, 422].map(isForGood)).toEqual([true, true, true, true])
  })
})

test('a known revision never goes back', () => {
  const notes = new KnownNotes()
  notes.learn('a', 3)
  notes.accepted('a', 2)
  expect(notes.revisionOf('a')).toBe(3)
  expect(notes.pick(new Random('x'))).toBe('a')
})

describe('a duration', () => {
  test('has its unit: a bare number is refused', () => {
    expect(['90s', '3m', '1h', '1.5m'].map(durationMs)).toEqual([90_000, 180_000, 3_600_000, 90_000])
    for (const text of ['5', '5000', '', 'm', '5ms', '-5s', ' 5s']) expect(() => durationMs(text)).toThrow()
  })

  test('is written so that it is read as the same', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.constantFrom('s', 'm', 'h'), (number, unit) => {
        const ms = durationMs(`${number}${unit}`)
        expect(durationMs(durationText(ms))).toBe(ms)
      }),
    )
    expect([0, 60_000, 90_000, 7_200_000].map(durationText)).toEqual(['0s', '1m', '90s', '2h'])
  })
})

describe('the report', () => {
  const REPORT = {
    seed: 's',
    startedAt: '2026-01-01T00:00:00.000Z',
    elapsedMs: 1,
    durationMs: 60_000,
    minFaults: 0,
    minCommands: 0,
    waitScale: 1,
    ratePerSecond: 1,
    schedule: 'abc',
    rounds: 1,
    faults: 1,
    byKind: [],
    commands: 1,
    requests: 1,
    accepted: 1,
    refused: 0,
    abandoned: 0,
    answers: {},
    check: undefined,
    unhealed: [],
  }

  const fault = (kind: 'kill' | 'pause', recoveredAfterMs: number | null): RecoveredFault => ({
    planned: { kind, target: 'kafka', startsAfterMs: 0, durationMs: 0 },
    startMs: 0,
    endMs: 1,
    recoveredAfterMs,
  })

  test('has median and longest recovery of each kind and of all', () => {
    expect(recoveryOf([fault('kill', 1), fault('kill', 9), fault('kill', 2), fault('pause', 20)])).toEqual([
      { kind: 'pause', faults: 1, medianMs: 20, maxMs: 20 },
      { kind: 'kill', faults: 3, medianMs: 2, maxMs: 9 },
      { kind: 'all', faults: 4, medianMs: 2, maxMs: 20 },
    ])
  })

  test('a fault that never healed has no longest recovery', () => {
    expect(recoveryOf([fault('kill', 1), fault('kill', null)]).at(-1)?.maxMs).toBe(null)
  })

  test('says the command that begins the same run, as it was given', () => {
    expect(markdownOf(REPORT)).toContain('`npm run faults -- --seed s --duration 1m --rate 1`')
    const long = { ...REPORT, durationMs: 90_000, minFaults: 200, minCommands: 1_000, waitScale: 3 }
    expect(markdownOf(long)).toContain(
      '`WAIT_SCALE=3 npm run faults -- --seed s --duration 90s --rate 1 --min-faults 200 --min-commands 1000`',
    )
    expect(markdownOf(long)).toContain('| limits | times 3 (WAIT_SCALE=3) |')
  })

  test('a run that was not checked, or did not heal, has not succeeded and says so', () => {
    expect(succeeded(REPORT)).toBe(false)
    expect(markdownOf({ ...REPORT, unhealed: ['kafka is held'] })).toContain('- kafka is held')
  })
})
