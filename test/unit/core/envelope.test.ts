import avsc from 'avsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EnvelopeDecoder, schemaIdOf } from '../../../core/envelope-decoder.ts'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { isSameSchema, SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { LIMITS, type NoteEvent } from '../../../core/note.ts'
import { type RegistryClient, RegistryUnavailable } from '../../../core/registry.ts'

const SUBJECT = 'notes.revisions-value'

/** What the decoder asks of a registry, answered from memory: the decoder's decisions are what is tested. */
function registryWith(
  schemas: Record<number, { schema: string; subjects?: string[] }>,
  subjectExists = true,
) {
  return {
    schemaById: async (id: number) => {
      const known = schemas[id]
      return known ? { found: true, value: known.schema } : { found: false }
    },
    subjectsOf: async (id: number) => schemas[id]?.subjects ?? [SUBJECT],
    hasSubject: async () => subjectExists,
  } as unknown as RegistryClient
}
const decoder = (schemas: Parameters<typeof registryWith>[0], subjectExists = true) =>
  new EnvelopeDecoder(registryWith(schemas, subjectExists), SUBJECT)
const shipped = { 7: { schema: SHIPPED_SCHEMA } }

const storable = (maxLength: number) =>
  fc.string({ unit: 'grapheme', maxLength }).filter((text) => !text.includes('\0') && text.isWellFormed())
const events: fc.Arbitrary<NoteEvent> = fc.record({
  eventId: fc.uuid({ version: 4 }),
  eventType: fc.constantFrom('NoteRevised', 'NoteWithdrawn'),
  noteId: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/),
  revision: fc.integer({ min: 1, max: LIMITS.maxRevision }),
  title: storable(50),
  url: fc.option(fc.webUrl(), { nil: null }),
  type: fc.constantFrom('article', 'page'),
  body: storable(200),
  visibility: fc.constantFrom('public', 'withdrawn'),
  occurredAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
})
const event: NoteEvent = {
  eventId: '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
  eventType: 'NoteRevised',
  noteId: 'a',
  revision: 1,
  title: 't',
  url: null,
  type: 'article',
  body: 'b',
  visibility: 'public',
  occurredAt: 1_700_000_000_000,
}
const wire = (id: number, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.writeInt32BE(id, 1)
  return Buffer.concat([head, body])
}

describe('an envelope', () => {
  test('carries every event unchanged, in Confluent wire format', async () => {
    const encoder = new EnvelopeEncoder(7)
    const reading = decoder(shipped)
    await fc.assert(
      fc.asyncProperty(events, async (original) => {
        const envelope = await encoder.encode(original)
        expect([envelope[0], schemaIdOf(envelope)]).toEqual([0, 7])
        expect(await reading.decode(envelope)).toEqual({ status: 'decoded', event: original, schemaId: 7 })
      }),
    )
  })

  test('of the largest note is below the limit of the database and of Kafka', async () => {
    const largest = {
      ...event,
      noteId: 'n'.repeat(64),
      title: '😀'.repeat(LIMITS.titleChars),
      url: `https://a.example/${'x'.repeat(LIMITS.urlBytes - 18)}`,
      body: '😀'.repeat(LIMITS.bodyBytes / 4),
    }
    const envelope = await new EnvelopeEncoder(7).encode(largest)
    expect(envelope.length).toBeLessThan(LIMITS.envelopeBytes)
    expect(await decoder(shipped).decode(envelope)).toMatchObject({ status: 'decoded', event: largest })
  })
})

describe('a value that can never be decoded is named, never thrown', () => {
  test.each([
    ['null-value', null],
    ['not-wire-format', Buffer.alloc(0)],
    ['not-wire-format', Buffer.from([0])],
    ['not-wire-format', Buffer.from([0, 0, 0, 0])],
    ['not-wire-format', Buffer.from('{"a":1}')],
    ['unknown-schema', Buffer.from('00000f423f00', 'hex')],
    ['malformed-avro', wire(7, Buffer.from('aa', 'hex'))],
    ['value-too-large', Buffer.alloc(LIMITS.envelopeBytes + 1)],
  ])('%s', async (reason, value) => {
    expect(await decoder(shipped).decode(value)).toMatchObject({ status: 'undecodable', reason })
  })

  test('whatever the bytes are', async () => {
    const reading = decoder(shipped)
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const { status } = await reading.decode(wire(7, Buffer.from(bytes)))
        expect(['decoded', 'undecodable']).toContain(status)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a cut envelope is malformed wherever it is cut', async () => {
    const envelope = await new EnvelopeEncoder(7).encode(event)
    const reading = decoder(shipped)
    for (let length = 6; length < envelope.length; length++) {
      const decoded = await reading.decode(envelope.subarray(0, length))
      expect(decoded, `cut at ${length}`).toMatchObject({ status: 'undecodable' })
    }
  })

  test("another subject's schema is foreign, even the same one", async () => {
    const reading = decoder({ 7: { schema: SHIPPED_SCHEMA, subjects: ['other-value'] } })
    const envelope = await new EnvelopeEncoder(7).encode(event)
    expect(await reading.decode(envelope)).toMatchObject({ reason: 'foreign-schema' })
  })

  test('a writer schema with an array is refused before a byte is read: a few could claim 100 million items', async () => {
    const bomb = JSON.stringify({
      type: 'record',
      name: 'NoteRevision',
      namespace: 'notes.events',
      fields: [{ name: 'items', type: { type: 'array', items: 'null' } }],
    })
    const claim = avsc.Type.forSchema('long').toBuffer(100_000_000)
    const decoded = await decoder({ 8: { schema: bomb } }).decode(wire(8, claim))
    expect(decoded).toMatchObject({ status: 'undecodable', reason: 'incompatible-schema' })
  })

  test('a schema that nobody released is not believed, though it could be read', async () => {
    const schema = JSON.parse(SHIPPED_SCHEMA)
    schema.fields.push({ name: 'summary', type: ['null', 'string'], default: null })
    const newer = JSON.stringify(schema)
    const value = Buffer.concat([await new EnvelopeEncoder(7).encode(event), Buffer.from([0])])
    expect(await decoder({ 7: { schema: newer } }).decode(value)).toMatchObject({
      reason: 'unreleased-schema',
    })
    const released = new EnvelopeDecoder(registryWith({ 7: { schema: newer } }), SUBJECT, [newer])
    expect(await released.decode(value)).toMatchObject({ status: 'decoded', event })
  })

  test('an event that breaks a rule of notes is invalid', async () => {
    const envelope = await new EnvelopeEncoder(7).encode({ ...event, revision: 0 })
    expect(await decoder(shipped).decode(envelope)).toMatchObject({ reason: 'invalid-event' })
  })
})

test('an empty registry gives no verdict: the reader waits', async () => {
  const envelope = await new EnvelopeEncoder(7).encode(event)
  await expect(decoder({}, false).decode(envelope)).rejects.toBeInstanceOf(RegistryUnavailable)
})

test('schemas are the same whatever their spacing and documentation, and not with another field', () => {
  const parsed = JSON.parse(SHIPPED_SCHEMA)
  const bare = {
    ...parsed,
    doc: undefined,
    fields: parsed.fields.map((field: object) => ({ ...field, doc: undefined })),
  }
  expect(isSameSchema(JSON.stringify(bare), SHIPPED_SCHEMA)).toBe(true)
  const fewer = { ...parsed, fields: parsed.fields.slice(1) }
  expect(isSameSchema(JSON.stringify(fewer), SHIPPED_SCHEMA)).toBe(false)
})
