/** Strong ETag of one revision, the same at both APIs: `"<revision>-<first 32 hex digits of content_digest>"`. */
export const noteETag = (revision: number, contentDigest: string): string =>
  `"${revision}-${contentDigest.slice(0, 32)}"`

/** One entity-tag of a list; the opaque part may hold commas, so the list cannot be split at them. */
const LIST_MEMBER = /\s*(?:(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*)?(?:,|$)/y

/**
 * Does an If-None-Match header name `etag`? RFC 9110, 13.1.2: `*` or a list, compared weakly. A header
 * that is not well-formed matches nothing: the answer is then the whole representation, never a wrong 304.
 */
export function matchesIfNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  let matched = false
  LIST_MEMBER.lastIndex = 0
  while (LIST_MEMBER.lastIndex < header.length) {
    const member = LIST_MEMBER.exec(header)
    if (!member) return false
    matched ||= member[1] === etag
  }
  return matched
}
