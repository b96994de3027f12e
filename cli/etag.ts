import { contentDigest } from '../core/content-digest.ts'
import type { NoteContent } from '../core/note.ts'

/** What a strong ETag `"<revision>-<32 hex>"` of either API says, or undefined when it is none. */
export function parseEtag(etag: string | null): { revision: number; digest: string } | undefined {
  const match = /^"(\d{1,10})-([0-9a-f]{32})"$/.exec(etag ?? '')
  return match ? { revision: Number(match[1]), digest: match[2] ?? '' } : undefined
}

/** The content digest as far as an ETag shows it: 32 hex digits. */
export const shortDigest = (content: NoteContent): string => contentDigest(content).slice(0, 32)
