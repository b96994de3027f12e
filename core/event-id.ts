import { createHash } from 'node:crypto'

/** Of the event ids that are made from names; any constant. */
const NAMESPACE = Buffer.from('6f1d2c9a4b7e4f0c9a51d3e8b2c47f60', 'hex')

/**
 * The event id of an intent that is made by hand: a UUID of version 5 (RFC 9562), made from note, revision and
 * content. Whoever makes the intent, and however often, it is the same event; consumers know it again.
 */
export function eventIdOfIntent(noteId: string, revision: number, contentDigest: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(`${noteId}:${revision}:${contentDigest}`).digest()
  const bytes = hash.subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
