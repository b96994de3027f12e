import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { admissionOf, candidatesOf, settle } from '../../../services/projector/decide.ts'
import { admittedOf, eventOf, headersOf, recordOf } from './records.ts'

const decoded = (event = eventOf()) => ({ status: 'decoded', event, schemaId: 1 }) as const

test('an event whose key and header id agree with it is admitted', () => {
  const event = eventOf()
  const record = recordOf({ key: Buffer.from(event.noteId), headers: headersOf({ id: event.eventId }) })
  expect(admissionOf(record, decoded(event))).toEqual({ status: 'admitted', event })
})

test.each([
  ['another note', Buffer.from('other')],
  ['no key', null],
  ['a key that is not UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
])('%s as key is a key-mismatch', (_what, key) => {
  const event = eventOf()
  const record = recordOf({ key, headers: headersOf({ id: event.eventId }) })
  expect(admissionOf(record, decoded(event))).toMatchObject({ refusal: { reason: 'key-mismatch' } })
})

test.each([
  ['another event', randomUUID()],
  ['no event', null],
  ['not a UUID', 'x'],
])('%s in header id is an event-id-mismatch', (_what, id) => {
  const record = recordOf({ key: Buffer.from('note'), headers: headersOf({ id }) })
  expect(admissionOf(record, decoded())).toMatchObject({ refusal: { reason: 'event-id-mismatch' } })
})

test('text that PostgreSQL cannot hold is refused before it spoils a batch', () => {
  const event = eventOf({ body: 'a\0b' })
  const record = recordOf({ key: Buffer.from('note'), headers: headersOf({ id: event.eventId }) })
  expect(admissionOf(record, decoded(event))).toMatchObject({ refusal: { reason: 'invalid-event' } })
})

test('why a value cannot be decoded is passed on as it is', () => {
  const refusal = { reason: 'malformed-avro', explanation: 'cut off' } as const
  expect(admissionOf(recordOf(), { status: 'undecodable', ...refusal })).toEqual({
    status: 'refused',
    refusal,
  })
})

const entryOf = (event: ReturnType<typeof eventOf>) => {
  const { contentDigest } = admittedOf(event)
  return { eventId: event.eventId, noteId: event.noteId, revision: event.revision, contentDigest }
}

test('the same event again is a duplicate, within a batch and across batches', () => {
  const event = eventOf()
  const batch = [admittedOf(event, 1), admittedOf(event, 2)]
  expect(candidatesOf(batch)).toEqual([batch[0]])
  expect(settle(batch, [])).toEqual(['fresh', 'duplicate'])
  expect(settle(batch, [entryOf(event)])).toEqual(['duplicate', 'duplicate'])
})

test.each([
  ['another event for the same revision', eventOf(), eventOf()],
  ['the same event with other content', eventOf({ body: 'one' }), undefined],
  ['the same event for another revision', eventOf({ revision: 1 }), undefined],
])('%s is a conflict, never stale', (what, first, second) => {
  const other =
    second ??
    (what.includes('content') ? { ...first, body: 'two' } : { ...first, revision: first.revision + 1 })
  const conflict = expect.objectContaining({ reason: 'conflict' })
  expect(settle([admittedOf(other)], [entryOf(first)])).toEqual([conflict])
  expect(settle([admittedOf(first, 1), admittedOf(other, 2)], [])).toEqual(['fresh', conflict])
})

test('what repeats a conflicting record is a conflict too, and enters no inbox', () => {
  const known = eventOf()
  const conflicting = eventOf()
  const later = { ...conflicting, revision: 2 }
  const batch = [admittedOf(conflicting, 1), admittedOf(conflicting, 2), admittedOf(later, 3)]
  const conflict = expect.objectContaining({ reason: 'conflict' })
  expect(candidatesOf(batch)).toEqual([batch[0]])
  expect(settle(batch, [entryOf(known)])).toEqual([conflict, conflict, conflict])
})
