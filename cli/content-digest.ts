import { createHash } from 'node:crypto'
import type { NoteContent } from '../core/note.ts'

/**
 * The digest that both databases compute for a revision's content (database/source/001_content_digest.sql):
 * SHA-256 over the fields, each prefixed with its length in bytes. 64 hex digits.
 */
export function contentDigest({ title, url, type, body, visibility }: NoteContent): string {
  const sized = (text: string) => `${Buffer.byteLength(text)}:${text}`
  return createHash('sha256')
    .update(sized(title))
    .update(url === null ? '-' : sized(url))
    .update(sized(type))
    .update(sized(body))
    .update(sized(visibility))
    .digest('hex')
}

const DIGEST_IN_ETAG_CHARS = 32

/** What a strong ETag `"<revision>-<32 hex>"` of either API says, or undefined when it is none. */
export function parseEtag(etag: string | null): { revision: number; digest: string } | undefined {
  const match = /^"(\d{1,10})-([0-9a-f]{32})"$/.exec(etag ?? '')
  return match ? { revision: Number(match[1]), digest: match[2] ?? '' } : undefined
}

export const shortDigest = (content: NoteContent): string =>
  contentDigest(content).slice(0, DIGEST_IN_ETAG_CHARS)
