import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { headersInOrder, keepHeaderOrder } from '../../../core/kafka/header-decoding.ts'

const require = createRequire(import.meta.url)
const Encoder = require('kafkajs/src/protocol/encoder')
const Decoder = require('kafkajs/src/protocol/decoder')
const decodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0/decoder')

/** A record as a producer in any language may write it: headers are a list, not an object. */
function recordWith(headers: readonly [name: string, value: Buffer | null][]): object {
  const encoder = new Encoder().writeInt8(0).writeVarLong(0).writeVarInt(0)
  encoder.writeVarIntBytes(null).writeVarIntBytes(null).writeVarInt(headers.length)
  for (const [name, value] of headers) encoder.writeVarIntString(name).writeVarIntBytes(value)
  const context = { firstOffset: '0', firstTimestamp: '0', magicByte: 2 }
  return decodeRecord(new Decoder(encoder.buffer), context).headers
}

keepHeaderOrder()
const bytes = (text: string) => Buffer.from(text)

test('headers keep their order, repeated names and names that every JavaScript object has', () => {
  const headers: [string, Buffer | null][] = [
    ['zebra', bytes('1')],
    ['2', bytes('2')],
    ['zebra', bytes('3')],
    ['constructor', bytes('4')],
    ['__proto__', bytes('5')],
    ['nothing', null],
    ['zebra', null],
  ]
  expect(headersInOrder(recordWith(headers))).toEqual(headers.map(([key, value]) => ({ key, value })))
})

test('as an object they keep the shape that kafkajs gives them', () => {
  const headers = recordWith([
    ['id', bytes('a')],
    ['id', bytes('b')],
    ['op', bytes('c')],
    ['__proto__', bytes('d')],
  ])
  expect(Object.entries(headers)).toEqual([
    ['id', [bytes('a'), bytes('b')]],
    ['op', bytes('c')],
    ['__proto__', bytes('d')],
  ])
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
})

test('a record without headers has none', () => {
  expect(headersInOrder(recordWith([]))).toEqual([])
  expect(headersInOrder(undefined)).toEqual([])
})
