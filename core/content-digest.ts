import { hash } from 'node:crypto'
import type { NoteContent } from './note.ts'

/**
 * The same digest as content_digest() in both databases, of what a reader can see of one revision: hex of
 * SHA-256 over the fields, each with its length in bytes before it, so that no two field lists collide.
 */
export function contentDigest({ title, url, type, body, visibility }: NoteContent): string {
  const sized = (text: string) => `${Buffer.byteLength(text)}:${text}`
  const fields = [sized(title), url === null ? '-' : sized(url), sized(type), sized(body), sized(visibility)]
  return hash('sha256', fields.join(''), 'hex')
}
