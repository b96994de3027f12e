import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  heard,
  type ProjectionSays,
  type ReaderSees,
  SILENT,
  type SourceSays,
  type StateFacts,
  stateOf,
} from '../../../services/console/publications/state.ts'

const NOTHING: ProjectionSays = {
  live: undefined,
  isApplied: false,
  quarantine: undefined,
  isSeen: false,
  isContested: false,
  course: { waitedMs: null, isPast: false, isDown: false },
}
const intent = (
  relay: NonNullable<SourceSays['intent']>['relay'] = 'not-observed',
  ageMs = 100,
): SourceSays => ({
  hasRevision: true,
  intent: { relay, ageMs },
})
const says = (more: Partial<ProjectionSays>): ProjectionSays => ({ ...NOTHING, ...more })
const live = (revision: number, isThisEvent = true) => ({ revision, isThisEvent })
const sees = (revision: number, isSameContent = true): ReaderSees => ({
  answer: 'shown',
  revision,
  isSameContent,
})
const state = (source: SourceSays | null, projection: ProjectionSays | null, reader: ReaderSees | null) =>
  stateOf({
    revision: 7,
    source: source ? heard(source) : SILENT,
    projection: projection ? heard(projection) : SILENT,
    reader: reader ? heard(reader) : SILENT,
  })
const waiting = { waitedMs: 90_000, isPast: false, isDown: false }

describe('the state of revision 7', () => {
  test.each([
    [
      'no intent at all: note-only, whatever readers get',
      { hasRevision: true, intent: undefined },
      NOTHING,
      sees(6),
      'note-only',
      null,
      'write-path',
    ],
    [
      'no intent, and readers were taken past it: note-only still',
      { hasRevision: true, intent: undefined },
      says({ live: live(9) }),
      sees(9),
      'note-only',
      null,
      'write-path',
    ],
    [
      'nothing proves that the broker has it: pending, and not late at once',
      intent(),
      NOTHING,
      sees(6),
      'intent-pending',
      'relay-behind',
      'relay',
    ],
    [
      'nobody reads the slot: pending, with that reason',
      intent('slot-inactive'),
      NOTHING,
      sees(6),
      'intent-pending',
      'slot-inactive',
      'relay',
    ],
    [
      'the relay went past it: pending, never called lost',
      intent('skipped'),
      NOTHING,
      sees(6),
      'intent-pending',
      'skipped',
      'relay',
    ],
    [
      'a record was seen, the slot says nothing: the record proves it',
      intent('slot-lost'),
      says({ isSeen: true, live: live(6) }),
      sees(6),
      'intent-relayed',
      'lag',
      'projector',
    ],
    [
      'the slot has passed it: relayed',
      intent('confirmed'),
      NOTHING,
      sees(6),
      'intent-relayed',
      'lag',
      'projector',
    ],
    [
      'its record waits and the consumer does nothing: consumer-down',
      intent(),
      says({ isSeen: true, course: { ...waiting, isDown: true } }),
      sees(6),
      'intent-relayed',
      'consumer-down',
      'projector',
    ],
    [
      'its record is in quarantine',
      intent(),
      says({ isSeen: true, quarantine: 'unresolved' }),
      sees(6),
      'intent-relayed',
      'quarantined',
      'operator',
    ],
    [
      'its record was discarded: rejected',
      intent(),
      says({ isSeen: true, quarantine: 'discarded' }),
      sees(6),
      'intent-relayed',
      'rejected',
      'nobody',
    ],
    [
      'the consumer is past its record and has not applied it',
      intent(),
      says({ isSeen: true, course: { ...waiting, isPast: true } }),
      sees(6),
      'intent-relayed',
      'not-applied',
      'projector',
    ],
    [
      'catalog and readers have it',
      intent(),
      says({ live: live(7), isSeen: true, isApplied: true }),
      sees(7),
      'projection-current',
      null,
      'nobody',
    ],
    [
      'it withdraws the note, and readers get 410 with it',
      intent(),
      says({ live: live(7), isSeen: true, isApplied: true }),
      { answer: 'withdrawn', revision: 7, isSameContent: true },
      'projection-current',
      null,
      'nobody',
    ],
    [
      'the catalog has it and readers get an older one: not called current',
      intent(),
      says({ live: live(7), isApplied: true }),
      sees(6),
      'unknown',
      'read-differs',
      'read-side',
    ],
    [
      'the catalog has it and readers get other content under that revision',
      intent(),
      says({ live: live(7), isApplied: true }),
      sees(7, false),
      'unknown',
      'read-differs',
      'read-side',
    ],
    [
      'the catalog has another event under that revision: this one is not there',
      intent(),
      says({ live: live(7, false), isSeen: true, quarantine: 'unresolved' }),
      sees(7),
      'intent-relayed',
      'quarantined',
      'operator',
    ],
    [
      'a newer one is shown and it was applied',
      intent(),
      says({ live: live(8), isApplied: true, isSeen: true }),
      sees(8),
      'superseded',
      'applied',
      'nobody',
    ],
    [
      'a newer one is shown and nobody has seen it: never current',
      intent('skipped'),
      says({ live: live(8) }),
      sees(8),
      'superseded',
      'never-seen',
      'relay',
    ],
    [
      'a newer one is shown, audit has seen it, the catalog has not',
      intent(),
      says({ live: live(8), isSeen: true }),
      sees(8),
      'superseded',
      'not-applied',
      'projector',
    ],
    [
      'a newer one is shown and its record is in quarantine',
      intent(),
      says({ live: live(8), isSeen: true, quarantine: 'unresolved' }),
      sees(8),
      'superseded',
      'quarantined',
      'operator',
    ],
    [
      'the source does not have it, the catalog does',
      { hasRevision: false, intent: undefined },
      says({ live: live(7), isApplied: true }),
      sees(7),
      'unknown',
      'not-canonical',
      'operator',
    ],
    [
      'the source is silent, the catalog has it and readers get it',
      null,
      says({ live: live(7), isApplied: true }),
      sees(7),
      'projection-current',
      null,
      'nobody',
    ],
    [
      'the source is silent, two events claim the revision',
      null,
      says({ live: live(7), isApplied: true, isContested: true }),
      sees(7),
      'unknown',
      'source-down',
      'operator',
    ],
    [
      'the source is silent, a newer one is shown and nothing was seen: there may be no intent',
      null,
      says({ live: live(8) }),
      sees(8),
      'unknown',
      'source-down',
      'operator',
    ],
    [
      'the source is silent and nothing was seen',
      null,
      NOTHING,
      sees(6),
      'unknown',
      'source-down',
      'operator',
    ],
    [
      'the projection is silent: what the slot says is not enough',
      intent('confirmed'),
      null,
      null,
      'unknown',
      'projection-down',
      'operator',
    ],
    [
      'the projection is silent, there is no intent: that is certain',
      { hasRevision: true, intent: undefined },
      null,
      null,
      'note-only',
      null,
      'write-path',
    ],
    [
      'the read API is silent: the catalog alone does not make it current',
      intent(),
      says({ live: live(7), isApplied: true }),
      null,
      'unknown',
      'read-api-down',
      'read-side',
    ],
    ['everything is silent', null, null, null, 'unknown', 'source-down', 'operator'],
  ] as [
    string,
    SourceSays | null,
    ProjectionSays | null,
    ReaderSees | null,
    string,
    string | null,
    string,
  ][])('%s', (_title, source, projection, reader, expected, because, owner) => {
    expect(state(source, projection, reader)).toMatchObject({ state: expected, because, owner })
  })

  test('a step is late when its allowed delay is over, by the commit or by the record', () => {
    expect(state(intent('not-observed', 4_000), NOTHING, sees(6)).isLate).toBe(false)
    expect(state(intent('not-observed', 6_000), NOTHING, sees(6)).isLate).toBe(true)
    const waited = (waitedMs: number) => says({ isSeen: true, course: { ...waiting, waitedMs } })
    expect(state(intent('confirmed', 60_000), waited(1_000), sees(6)).isLate).toBe(false)
    expect(state(intent('confirmed', 60_000), waited(6_000), sees(6)).isLate).toBe(true)
    expect(state(intent('confirmed', 6_000), NOTHING, sees(6)).isLate).toBe(false)
  })
})

describe('whatever is the case', () => {
  const revisionNear = fc.integer({ min: 5, max: 9 })
  const relay = fc.constantFrom(
    'confirmed' as const,
    'not-observed' as const,
    'skipped' as const,
    'slot-lost' as const,
  )
  const course = fc.record({
    waitedMs: fc.option(fc.integer({ min: 0, max: 100_000 })),
    isPast: fc.boolean(),
    isDown: fc.boolean(),
  })
  /** Worlds as the constraints leave them: the inbox has an event only of an intent, the catalog only of the inbox. */
  const world: fc.Arbitrary<StateFacts> = fc
    .record({
      hasIntent: fc.boolean(),
      relay,
      ageMs: fc.option(fc.integer({ min: 0, max: 100_000 })),
      live: fc.option(revisionNear, { nil: undefined }),
      wasApplied: fc.boolean(),
      quarantine: fc.constantFrom('unresolved' as const, 'discarded' as const, undefined),
      wasSeen: fc.boolean(),
      course,
      shows: fc.option(revisionNear, { nil: undefined }),
      sameContent: fc.boolean(),
    })
    .map((w) => {
      const revision = w.live === 7 && !w.hasIntent ? 6 : w.live
      const isApplied =
        w.hasIntent && (revision === 7 || (revision !== undefined && revision > 7 && w.wasApplied))
      const quarantine = w.hasIntent && !isApplied ? w.quarantine : undefined
      return {
        revision: 7,
        source: heard({
          hasRevision: true,
          intent: w.hasIntent ? { relay: w.relay, ageMs: w.ageMs } : undefined,
        }),
        projection: heard({
          live: revision === undefined ? undefined : live(revision),
          isApplied,
          quarantine,
          isSeen: w.hasIntent && (isApplied || quarantine !== undefined || w.wasSeen),
          isContested: false,
          course: w.course,
        }),
        reader: heard(
          w.shows === undefined
            ? ({ answer: 'absent' } as const)
            : { answer: 'shown' as const, revision: w.shows, isSameContent: w.sameContent },
        ),
      }
    })
  const silences = fc.subarray(['source', 'projection', 'reader'] as const)

  test('a silent part leaves the state as it is or makes it unknown: never another one', () => {
    fc.assert(
      fc.property(world, silences, (facts, silent) => {
        const whole = stateOf(facts)
        const less = stateOf({ ...facts, ...Object.fromEntries(silent.map((part) => [part, SILENT])) })
        return less.state === 'unknown' || (less.state === whole.state && less.because === whole.because)
      }),
    )
  })

  test('current is said only when the read API answered with exactly this revision', () => {
    fc.assert(
      fc.property(world, silences, (facts, silent) => {
        const asked = { ...facts, ...Object.fromEntries(silent.map((part) => [part, SILENT])) }
        if (stateOf(asked).state !== 'projection-current') return true
        const { reader } = asked
        return (
          reader.heard &&
          reader.value.answer !== 'absent' &&
          reader.value.revision === 7 &&
          reader.value.isSameContent
        )
      }),
    )
  })

  test('relayed is said only with evidence that the broker has it', () => {
    fc.assert(
      fc.property(world, (facts) => {
        if (stateOf(facts).state !== 'intent-relayed') return true
        const seen = facts.projection.heard && facts.projection.value.isSeen
        return seen || (facts.source.heard && facts.source.value.intent?.relay === 'confirmed')
      }),
    )
  })
})
