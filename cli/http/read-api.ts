import { z } from 'zod'
import { CliFailure } from '../failure.ts'
import { describe, expectBody, type HttpClient } from './client.ts'

const PublicNote = z.object({
  noteId: z.string(),
  revision: z.int(),
  title: z.string(),
  url: z.string().nullable(),
  type: z.string(),
  body: z.string(),
  revisedAt: z.string(),
})
const Gone = z.object({ revision: z.int() })
const NotVisible = z.object({
  visibleRevision: z.int().nullable(),
  quarantined: z.object({ reason: z.string() }).optional(),
})

/** What the public read API shows of a note at one moment, with the freshness it claims. */
export type PublicView = {
  readonly asOf: string | null
  readonly freshness: string | null
} & (
  | { readonly status: 'public'; readonly note: z.infer<typeof PublicNote>; readonly etag: string | null }
  | { readonly status: 'withdrawn'; readonly revision: number }
  | { readonly status: 'absent' }
)

/** Whether a revision (or a newer one) is what readers get. */
export type Visibility =
  | { readonly status: 'visible'; readonly revision: number }
  | { readonly status: 'not-yet'; readonly visibleRevision: number | null }
  | { readonly status: 'quarantined'; readonly reason: string }

/** One long poll; the API waits itself and answers as soon as it can. */
const WAIT_SECONDS = 5

export class ReadApi {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  async view(noteId: string): Promise<PublicView> {
    const answer = await this.#http.request(`/notes/${encodeURIComponent(noteId)}`)
    const freshness = {
      asOf: answer.headers.get('Projection-As-Of'),
      freshness: answer.headers.get('Projection-Freshness'),
    }
    switch (answer.status) {
      case 200:
        return {
          ...freshness,
          status: 'public',
          note: expectBody(answer, PublicNote, 'The public note'),
          etag: answer.headers.get('ETag'),
        }
      case 410:
        return {
          ...freshness,
          status: 'withdrawn',
          revision: expectBody(answer, Gone, 'The answer').revision,
        }
      case 404:
        return { ...freshness, status: 'absent' }
      default:
        throw new CliFailure('failed', `The read API did not give the note: ${describe(answer)}.`)
    }
  }

  /**
   * Waits up to `waitSeconds` for a revision. A withdrawn revision counts as visible: readers get its 410.
   * @param knownEtag saves the body: when it is what the API shows, it answers 304
   */
  async isVisible(
    noteId: string,
    revision: number,
    options: { readonly knownEtag?: string; readonly waitSeconds?: number } = {},
  ): Promise<Visibility> {
    const answer = await this.#http.request(`/notes/${encodeURIComponent(noteId)}?minRevision=${revision}`, {
      answers: [503],
      headers: {
        Prefer: `wait=${options.waitSeconds ?? WAIT_SECONDS}`,
        ...(options.knownEtag && { 'If-None-Match': options.knownEtag }),
      },
    })
    switch (answer.status) {
      case 200:
      case 304:
        return { status: 'visible', revision: Number(answer.headers.get('Note-Revision') ?? revision) }
      case 410:
        return { status: 'visible', revision: expectBody(answer, Gone, 'The answer').revision }
      case 503: {
        const facts = NotVisible.safeParse(answer.body).data
        return facts?.quarantined
          ? { status: 'quarantined', reason: facts.quarantined.reason }
          : { status: 'not-yet', visibleRevision: facts?.visibleRevision ?? null }
      }
      default:
        throw new CliFailure('failed', `The read API gave an unexpected answer: ${describe(answer)}.`)
    }
  }
}
