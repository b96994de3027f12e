import { describe, expect, it } from 'vitest'
import { effectOf, type IntentFacts, refusalOf } from '../../../services/console/intents/decide.ts'

const facts: IntentFacts = {
  content: { title: 't', url: null, type: 'article', body: 'b', visibility: 'public' },
  hasIntent: false,
  isErased: false,
  schemaId: 1,
  eventId: 'e',
  knownEvents: [],
  revision: 3,
  visibleRevision: 2,
}

describe('an intent may be made by hand', () => {
  it('for a revision that has none', () => {
    expect(refusalOf(facts)).toBeUndefined()
    // The same event again is no other one: a source that was restored forgot that it was made.
    expect(refusalOf({ ...facts, knownEvents: ['e'] })).toBeUndefined()
  })
  it.each<[string, Partial<IntentFacts>]>([
    ['exists', { hasIntent: true }],
    ['erased', { isErased: true, hasIntent: true }],
    ['other-event', { knownEvents: ['another'] }],
    ['invalid-content', { content: { ...facts.content, url: 'ftp://x' } }],
    ['invalid-content', { content: { ...facts.content, title: '' } }],
    ['no-schema', { schemaId: undefined }],
  ])('but not where it is refused as %s', (why, change) => {
    expect(refusalOf({ ...facts, ...change })).toBe(why)
  })
})

describe('what readers see then', () => {
  it.each<[string, Partial<IntentFacts>]>([
    ['shown', {}],
    ['shown', { visibleRevision: null }],
    ['withdrawn', { content: { ...facts.content, visibility: 'withdrawn' } }],
    ['stale', { visibleRevision: 3 }],
    ['stale', { visibleRevision: 9, content: { ...facts.content, visibility: 'withdrawn' } }],
  ])('is %s', (effect, change) => {
    expect(effectOf({ ...facts, ...change })).toBe(effect)
  })
})
