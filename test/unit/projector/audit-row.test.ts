import fc from 'fast-check'
import { expect, test } from 'vitest'
import { auditRowOf } from '../../../services/projector/audit/row.ts'
import { headersOf, recordOf } from './records.ts'

test('a record of ours is told whole', () => {
  const row = auditRowOf(
    recordOf({
      key: Buffer.from('release-4.2'),
      value: Buffer.from([0, 0, 0, 0, 7, 1, 2]),
      headers: headersOf({
        id: 'A3BB189E-8BF9-4C4C-9D15-8C1D2A6E9F10',
        type: 'NoteRevised',
        revision: '7',
        op: 'c',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        source: '{"lsn":24023128,"txId":771,"ts_us":1790000000123456,"snapshot":"false"}',
      }),
    }),
  )
  expect(row).toMatchObject({
    eventId: 'a3bb189e-8bf9-4c4c-9d15-8c1d2a6e9f10',
    eventType: 'NoteRevised',
    noteId: 'release-4.2',
    revision: 7,
    operation: 'c',
    walLsn: 24023128,
    walTxId: 771,
    committedAtMicros: 1790000000123456,
    schemaId: 7,
    valueBytes: 7,
  })
})

test.each([
  'null',
  '[]',
  '"x"',
  '{"lsn":"1","txId":-1,"ts_us":1e300}',
  '{"lsn":1.5,"txId":99999999999999999999,"ts_us":null}',
  '{"lsn":',
  '',
])('a source header %s gives nothing, and no failure', (source) => {
  expect(auditRowOf(recordOf({ headers: headersOf({ source }) }))).toMatchObject({
    walLsn: null,
    walTxId: null,
    committedAtMicros: null,
  })
})

test.each(['0', '-1', '1.5', '2147483648', '9007199254740993', ' 7', '７', 'x'])(
  'revision %j is none',
  (revision) => {
    expect(auditRowOf(recordOf({ headers: headersOf({ revision }) })).revision).toBeNull()
  },
)

test('any bytes at all give a row that PostgreSQL can hold', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)))
  const name = fc.oneof(
    fc.constantFrom('id', 'type', 'revision', 'op', 'source', 'traceparent', 'constructor', '__proto__'),
    fc.string(),
  )
  const headers = fc.array(fc.record({ key: name, value: bytes }), { maxLength: 8 })
  fc.assert(
    fc.property(bytes, bytes, headers, fc.double(), (key, value, all, timestampMs) => {
      const row = auditRowOf(recordOf({ key, value, headers: all, timestampMs }))
      const texts = [row.operation, row.eventType, row.noteId, row.traceparent, row.eventId]
      for (const text of texts) expect(text ?? '').toMatch(/^[\x20-\x7e]{0,64}$/)
      expect(row.brokerTime.getTime()).toBeGreaterThanOrEqual(0)
      expect(row.brokerTime.getTime()).toBeLessThan(Date.UTC(10_000, 0, 1))
      expect(row.valueBytes).toBe(value?.length ?? null)
    }),
  )
})
