import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { metadataRequest, parseMetadata } from '../../../core/kafka/topic-metadata.ts'

/** Answers of Kafka 4.3.1 to Metadata version 12 for one topic. */
const compact = (text: string | null) =>
  text === null ? Buffer.from([0]) : Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)])
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const answer = (error: number, topicId: string) =>
  Buffer.concat([
    int32(1), // correlation id
    Buffer.from([0]),
    int32(0), // throttle time
    Buffer.from([2]), // one broker
    int32(1),
    compact('127.0.0.1'),
    int32(29092),
    compact(null),
    Buffer.from([0]),
    compact('cluster'),
    int32(1),
    Buffer.from([2, error >> 8, error & 0xff]), // one topic
    compact('notes.revisions'),
    Buffer.from(topicId.replaceAll('-', ''), 'hex'),
    Buffer.from([0, 1]),
  ])
const ID = '0fbad39c-62db-45e3-914a-819dd53e7e2d'

describe('the identity of a topic', () => {
  it('is read from the answer, also while a leader is being chosen', () => {
    expect(parseMetadata(answer(0, ID))).toEqual({ clusterId: 'cluster', topicId: ID })
    expect(parseMetadata(answer(5, ID))).toEqual({ clusterId: 'cluster', topicId: ID })
  })

  it('is none for a topic that does not exist, and an error for anything else', () => {
    expect(parseMetadata(answer(3, ID))).toBeNull()
    expect(() => parseMetadata(answer(29, ID))).toThrow(/error code 29/)
  })

  it('is never made up from an answer that is cut short', () => {
    const whole = answer(0, ID)
    const needed = whole.length - 2
    fc.assert(
      fc.property(fc.nat(needed - 1), (length) => {
        expect(() => parseMetadata(whole.subarray(0, length))).toThrow(RangeError)
      }),
    )
  })

  it('is asked for by name, in a request that says its own size', () => {
    const request = metadataRequest('notes.revisions')
    expect(request.readInt32BE(0)).toBe(request.length - 4)
    expect(request.includes('notes.revisions')).toBe(true)
  })
})
