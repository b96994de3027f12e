/** What the public read API answered for one note. */
export type PublicRead =
  | {
      readonly answer: 'shown'
      readonly revision: number
      readonly etag: string
      readonly asOf: string | null
    }
  | { readonly answer: 'withdrawn'; readonly revision: number; readonly asOf: string | null }
  | { readonly answer: 'absent'; readonly asOf: string | null }
  /** Away, too slow, or an answer that says nothing about the note. */
  | { readonly answer: 'unknown' }

export type AskPublicRead = (noteId: string, etag: string, traceparent: string) => Promise<PublicRead>

const LIMIT_MS = 2_000

/** An answer as it came, whoever gave it: the read API or a cache before it. */
export type ReaderAnswer = {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly body: string
  readonly at: Date
}

/**
 * Asks the read API over HTTP, as a reader would.
 * @param path with its query
 * @throws when there is no whole answer within `limitMs`
 */
export async function askReadApi(
  readApiUrl: string,
  path: string,
  {
    headers = {},
    limitMs,
  }: { readonly headers?: Readonly<Record<string, string>>; readonly limitMs: number },
): Promise<ReaderAnswer> {
  const url = `${readApiUrl}${path}`
  const response = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(limitMs) })
  // Read to the end, so that the connection can be used again.
  const body = await response.text()
  return { url, status: response.status, headers: response.headers, body, at: new Date() }
}

export const notePath = (noteId: string): string => `/notes/${encodeURIComponent(noteId)}`

/**
 * Asks for one note. If-None-Match with the ETag of the canonical revision saves the body in the usual case.
 * Never throws: whatever goes wrong is `unknown`.
 */
export const askPublicRead =
  (readApiUrl: string): AskPublicRead =>
  async (noteId, etag, traceparent) => {
    try {
      const headers = { 'If-None-Match': etag, traceparent }
      return readAnswer(await askReadApi(readApiUrl, notePath(noteId), { headers, limitMs: LIMIT_MS }))
    } catch {
      return { answer: 'unknown' }
    }
  }

/** The meaning of an answer's status and headers. */
export function readAnswer({ status, headers }: Pick<Response, 'status' | 'headers'>): PublicRead {
  const asOf = headers.get('projection-as-of')
  const revision = Number(headers.get('note-revision') ?? Number.NaN)
  const etag = headers.get('etag')
  switch (status) {
    case 200:
    case 304:
      return Number.isInteger(revision) && etag !== null
        ? { answer: 'shown', revision, etag, asOf }
        : { answer: 'unknown' }
    case 410:
      return Number.isInteger(revision) ? { answer: 'withdrawn', revision, asOf } : { answer: 'unknown' }
    case 404:
      return { answer: 'absent', asOf }
    default:
      return { answer: 'unknown' }
  }
}
