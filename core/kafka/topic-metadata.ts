// One request and answer of Kafka's protocol, byte by byte: Metadata version 12.
// https://kafka.apache.org/protocol#The_Messages_Metadata

/**
 * Which topic answers to a name. Kafka gives every topic an id when it is made: a topic that was deleted and
 * made anew has the same name, again offsets from 0, and another id.
 */
export type TopicIdentity = { readonly clusterId: string | null; readonly topicId: string }

const METADATA = { apiKey: 3, apiVersion: 12 } as const
const UNKNOWN_TOPIC = 3

/** Request header version 2, body of Metadata version 12 for one topic by name, without making it. */
export function metadataRequest(topic: string): Buffer {
  const clientId = Buffer.from('topic-identity')
  const name = Buffer.from(topic)
  const head = Buffer.alloc(10)
  head.writeInt16BE(METADATA.apiKey, 0)
  head.writeInt16BE(METADATA.apiVersion, 2)
  head.writeInt32BE(1, 4)
  head.writeInt16BE(clientId.length, 8)
  const body = Buffer.concat([
    head,
    clientId,
    Buffer.from([0]), // no tagged fields
    Buffer.from([2]), // one topic (compact arrays count from 1)
    Buffer.alloc(16), // by name: no id
    unsignedVarint(name.length + 1),
    name,
    Buffer.from([0, 0, 0, 0]), // no tags; do not create; no authorized operations; no tags
  ])
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length)
  return Buffer.concat([size, body])
}

/** @throws RangeError when the answer is cut short; Error for an error code of the topic. */
export function parseMetadata(answer: Buffer): TopicIdentity | null {
  const reader = new Reader(answer)
  reader.skip(4) // correlation id
  reader.tags()
  reader.skip(4) // throttle time
  for (let count = reader.varint() - 1; count > 0; count--) {
    reader.skip(4) // node id
    reader.text()
    reader.skip(4) // port
    reader.text() // rack
    reader.tags()
  }
  const clusterId = reader.text()
  reader.skip(4) // controller
  if (reader.varint() - 1 < 1) return null
  const error = reader.int16()
  reader.text() // name
  const topicId = reader.uuid()
  if (error === UNKNOWN_TOPIC) return null
  // 5: a leader is being chosen; the topic is there all the same.
  if (error !== 0 && error !== 5) throw new Error(`Kafka answered with error code ${error}`)
  return { clusterId, topicId }
}

function unsignedVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    const low = rest & 0x7f
    rest >>>= 7
    bytes.push(rest > 0 ? low | 0x80 : low)
  } while (rest > 0)
  return Buffer.from(bytes)
}

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  skip(count: number): void {
    this.#at += count
  }

  int16(): number {
    const value = this.#bytes.readInt16BE(this.#at)
    this.#at += 2
    return value
  }

  varint(): number {
    let value = 0
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#at++)
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new RangeError('a number that is too long')
  }

  /** A compact nullable string. */
  text(): string | null {
    const length = this.varint() - 1
    if (length < 0) return null
    const text = this.#bytes.toString('utf8', this.#at, this.#at + length)
    this.#at += length
    return text
  }

  uuid(): string {
    if (this.#at + 16 > this.#bytes.length) throw new RangeError('the answer is cut short')
    const hex = this.#bytes.toString('hex', this.#at, this.#at + 16)
    this.#at += 16
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }

  tags(): void {
    for (let count = this.varint(); count > 0; count--) {
      this.varint()
      this.skip(this.varint())
    }
  }
}
