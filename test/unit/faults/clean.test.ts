import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { check } from '../../faults/checker/check.ts'
import { HistoryEntry } from '../../faults/history.ts'
import { story } from './story.ts'
import { type Fate, type Wish, World } from './world.ts'

describe('the checker finds nothing', () => {
  test('in a run where everything that is allowed happens once', async () => {
    const { facts, history } = story()
    const report = await check(facts, history)
    expect(report.violations).toEqual([])
    expect(report.checked).toEqual({
      entries: { run: 1, command: 9, read: 7, list: 1, canonical: 1, event: 6, publication: 5 },
      acknowledged: 4,
      refused: 4,
      unanswered: 1,
      confirmations: 9,
      sightings: 12,
      revisions: 5,
      records: 8,
      repeats: 3,
      effects: 10,
    })
  })

  test('and the story is a history as it is recorded', () => {
    for (const entry of story().history) expect(HistoryEntry.parse(entry)).toEqual(entry)
  })

  test('in any run of a pipeline that keeps its promises', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 120 }), async (steps) => {
        const world = new World()
        const wishes: Wish[] = []
        for (const run of steps) run(world, wishes)
        const { facts, history } = world.end()
        const report = await check(facts, history)
        expect(report.violations).toEqual([])
        expect(report.total).toBe(0)
      }),
      { numRuns: 500 },
    )
  })
})

type Step = (world: World, wishes: Wish[]) => void

const note = fc.constantFrom('a', 'b', 'cc')
const around = fc.record({
  beforeMs: fc.constantFrom(0.1, 0.9, 5, 400),
  afterMs: fc.constantFrom(0.1, 0.9, 5, 400),
})
const fate = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Fate>('answered') },
  { weight: 1, arbitrary: fc.constantFrom<Fate>('cut', 'unavailable', 'late') },
)
const revisionAsked = fc.constantFrom(0, 1, 1, 1, 2)
const count = fc.integer({ min: 1, max: 4 })

/** A number of an earlier thing, whatever there is by then. */
const earlier = fc.nat({ max: 50 })
const pickFrom = <T>(items: readonly T[], n: number): T | undefined => items[n % Math.max(1, items.length)]

const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(note, revisionAsked, fc.nat({ max: 2 }), fc.boolean(), fate, around, earlier, fc.nat({ max: 5 }))
    .map(([noteId, ahead, editor, withdraws, how, span, which, reuse]): Step => {
      return (world, wishes) => {
        const known = world.committed.filter((intent) => intent.noteId === noteId).length
        const other = reuse === 0 ? pickFrom(wishes, which) : undefined
        const wish: Wish = {
          principal: other?.principal ?? `editor-${editor}`,
          key: other?.key ?? `key-${wishes.length}`,
          editId: `edit-${wishes.length}`,
          noteId,
          revision: Math.max(1, known + ahead),
          visibility: withdraws ? 'withdrawn' : 'public',
        }
        wishes.push(wish)
        world.submit(wish, how, span)
      }
    }),
  fc.tuple(earlier, fate, around).map(([which, how, span]): Step => {
    return (world, wishes) => {
      const wish = pickFrom(wishes, which)
      if (wish) world.submit(wish, how, span)
    }
  }),
  fc.constant<Step>((world) => world.letLateOnesThrough()),
  fc.tuple(count, fc.nat({ max: 3 })).map(
    ([some, again]): Step =>
      (world) =>
        world.relay(some, again),
  ),
  earlier.map((which): Step => {
    return (world) => {
      const intent = pickFrom(world.committed, which)
      if (intent) world.replay(intent)
    }
  }),
  fc.tuple(fc.constantFrom('audit' as const, 'catalog' as const), count).map(
    ([consumer, some]): Step =>
      (world) =>
        world.consume(consumer, some),
  ),
  fc
    .tuple(note, fc.boolean(), fc.constantFrom(undefined, 1, 2, 5), around)
    .map(([noteId, ifNoneMatch, minRevision, span]): Step => {
      return (world) => world.read(noteId, { ifNoneMatch, ...(minRevision && { minRevision }), ...span })
    }),
  around.map(
    (span): Step =>
      (world) =>
        world.list(span),
  ),
  fc.tuple(note, around).map(
    ([noteId, span]): Step =>
      (world) =>
        world.canonical(noteId, span),
  ),
  fc.tuple(earlier, around).map(([which, span]): Step => {
    return (world) => {
      const intent = pickFrom(world.committed, which)
      if (intent) world.event(intent.eventId, span)
    }
  }),
  fc.tuple(note, fc.integer({ min: 1, max: 5 }), around).map(
    ([noteId, revision, span]): Step =>
      (world) =>
        world.publication(noteId, revision, span),
  ),
  fc.constant<Step>((world) => world.beat()),
  fc.constantFrom(3, 300, 12_000).map(
    (ms): Step =>
      (world) =>
        world.wait(ms),
  ),
)
