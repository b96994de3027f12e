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

/**
 * Asks the read API over HTTP, as a reader would. If-None-Match with the ETag of the canonical revision
 * saves the body in the usual case. Never throws: whatever goes wrong is `unknown`.
 */
export const askPublicRead =
  (readApiUrl: string): AskPublicRead =>
  async (noteId, etag, traceparent) => {
    try {
      const response = await fetch(`${readApiUrl}/notes/${encodeURIComponent(noteId)}`, {
        headers: { 'If-None-Match': etag, traceparent },
        redirect: 'error',
        signal: AbortSignal.timeout(LIMIT_MS),
      })
      // Read to the end, so that the connection can be used again.
      await response.arrayBuffer()
      return readAnswer(response)
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
