import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  byteaArray,
  int4Array,
  int8Array,
  lsnArray,
  textArray,
  timestampArray,
  uuidArray,
} from '../../../core/postgres-arrays.ts'
import { useLab } from '../../support/lab.ts'

let client: pg.Client
beforeAll(async () => {
  client = new pg.Client({ connectionString: useLab().databases.projectionAdmin })
  await client.connect()
})
afterAll(() => client?.end())

async function expectRoundTrip(type: string, parameter: Buffer, expected: readonly unknown[]) {
  const { rows } = await client.query<{ item: unknown }>(
    `SELECT item FROM unnest($1::${type}[]) WITH ORDINALITY AS u (item, n) ORDER BY n`,
    [parameter],
  )
  expect(rows.map(({ item }) => item)).toEqual(expected)
}
const some = <T>(item: fc.Arbitrary<T>) => fc.array(fc.option(item), { maxLength: 8 })
const storable = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0') && text.isWellFormed())

test('PostgreSQL reads every array as it was given, nulls and no elements included', async () => {
  await fc.assert(
    fc.asyncProperty(
      some(storable),
      some(fc.uint8Array().map((array) => Buffer.from(array))),
      some(fc.integer()),
      some(fc.maxSafeInteger()),
      some(fc.uuid()),
      async (texts, bytes, integers, bigints, uuids) => {
        await expectRoundTrip('text', textArray(texts), texts)
        await expectRoundTrip('bytea', byteaArray(bytes), bytes)
        await expectRoundTrip('int4', int4Array(integers), integers)
        await expectRoundTrip(
          'int8',
          int8Array(bigints),
          bigints.map((n) => (n === null ? null : String(n))),
        )
        await expectRoundTrip('uuid', uuidArray(uuids), uuids)
      },
    ),
    { numRuns: 40 },
  )
})

test('times keep their microseconds, WAL positions their 64 bits', async () => {
  const { rows } = await client.query(
    `SELECT array(SELECT extract(epoch FROM t)::text FROM unnest($1::timestamptz[]) AS t) AS times,
       array(SELECT l::text FROM unnest($2::pg_lsn[]) AS l) AS lsns`,
    [timestampArray([1_790_000_000_123_456, 0, -1]), lsnArray([24_023_128, 2 ** 40 + 5])],
  )
  expect(rows).toEqual([
    { times: ['1790000000.123456', '0.000000', '-0.000001'], lsns: ['0/16E9058', '100/5'] },
  ])
})
