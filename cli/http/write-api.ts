import { z } from 'zod'
import type { SaveNoteCommand } from '../../core/note.ts'
import { parseEtag } from '../etag.ts'
import { CliFailure } from '../failure.ts'
import { describe, expectBody, type HttpClient } from './client.ts'

/** What of each answer this tool uses; more may be there. */
const Accepted = z.object({ eventId: z.string(), noteId: z.string(), revision: z.int() })
const Conflict = z.object({
  currentRevision: z.int(),
  sameContent: z.boolean().nullish(),
  eventId: z.string().nullish(),
})
const Canonical = z.object({
  noteId: z.string(),
  revision: z.int(),
  title: z.string(),
  url: z.string().nullable(),
  type: z.string(),
  body: z.string(),
  visibility: z.string(),
  eventId: z.string().nullable(),
  occurredAt: z.string(),
})
export type CanonicalNote = z.infer<typeof Canonical> & { readonly etag: string }

const RevisionPage = z.object({
  currentRevision: z.int(),
  revisions: z.array(
    z.object({
      revision: z.int(),
      title: z.string(),
      visibility: z.string(),
      eventId: z.string().nullable(),
      occurredAt: z.string(),
      etag: z.string(),
    }),
  ),
  next: z.string().nullable(),
})
export type RevisionEntry = z.infer<typeof RevisionPage>['revisions'][number]

const time = z.string().nullable()
const Publication = z.object({
  noteId: z.string(),
  revision: z.int(),
  eventId: z.string().nullable(),
  state: z.string(),
  accepted: z.object({ answer: z.string(), at: time }),
  confirmed: z.object({
    answer: z.string(),
    evidence: z.enum(['recorded', 'record', 'visible', 'none']),
    observedAt: time,
  }),
  visible: z.object({
    answer: z.string(),
    at: time,
    shownRevision: z.int().nullable(),
    projectionAsOf: z.string().nullable(),
  }),
})
/** `state` is one of note-only, accepted, confirmed, visible, withdrawn, superseded. */
export type Publication = z.infer<typeof Publication>

/** What came of one command. Refusals are values; servers that are away are CliFailures. */
export type PublishOutcome =
  | { readonly status: 'accepted' | 'replayed'; readonly eventId: string; readonly revision: number }
  | { readonly status: 'conflict'; readonly currentRevision: number; readonly sameContent: boolean }
  | { readonly status: 'key-reused' }
  | { readonly status: 'refused'; readonly explanation: string }

/** Where a note stands at the source. */
export type Canonical =
  | { readonly status: 'absent' }
  /** `digest`: 32 hex digits of the content digest. */
  | { readonly status: 'present'; readonly revision: number; readonly digest: string }

const notePath = (noteId: string) => `/notes/${encodeURIComponent(noteId)}`

export class WriteApi {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Fails at once when the API is not there or refuses the token, before a long run waits for it. */
  async ping(): Promise<void> {
    await this.canonical('notesctl-ping')
  }

  /** Safe to repeat with the same key: then the original answer comes back. */
  async publish(command: SaveNoteCommand, idempotencyKey: string): Promise<PublishOutcome> {
    const answer = await this.#http.request('/notes', {
      method: 'POST',
      json: command,
      headers: { 'Idempotency-Key': idempotencyKey },
    })
    const code = z.object({ code: z.string() }).safeParse(answer.body).data?.code
    if (answer.status === 202) {
      const { eventId, revision } = expectBody(answer, Accepted, 'The answer to POST /notes')
      const isReplay = answer.headers.get('Idempotency-Replayed') === 'true'
      return { status: isReplay ? 'replayed' : 'accepted', eventId, revision }
    }
    if (answer.status === 409) {
      const { currentRevision, sameContent } = expectBody(answer, Conflict, 'The conflict of POST /notes')
      return { status: 'conflict', currentRevision, sameContent: sameContent ?? false }
    }
    if (code === 'idempotency-key-reused') return { status: 'key-reused' }
    if (answer.status >= 400 && answer.status < 500)
      return { status: 'refused', explanation: describe(answer) }
    throw new CliFailure(
      'failed',
      `The write API gave an unexpected answer to POST /notes: ${describe(answer)}.`,
    )
  }

  /** Revision and digest of the canonical note, from its ETag; its text is not fetched. */
  async canonical(noteId: string): Promise<Canonical> {
    const answer = await this.#http.request(notePath(noteId), { method: 'HEAD' })
    if (answer.status === 404) return { status: 'absent' }
    const etag = parseEtag(answer.headers.get('ETag'))
    if (answer.status !== 200 || !etag) throw unexpected('the revision of the note', answer)
    return { status: 'present', ...etag }
  }

  /** The canonical note, or undefined when it does not exist. */
  async note(noteId: string): Promise<CanonicalNote | undefined> {
    const answer = await this.#http.request(notePath(noteId))
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw unexpected('the note', answer)
    const note = expectBody(answer, Canonical, 'The canonical note')
    return { ...note, etag: answer.headers.get('ETag') ?? '' }
  }

  /** One entry of the note's revisions, newest first page by page until found. */
  async revision(noteId: string, revision: number): Promise<RevisionEntry | undefined> {
    for (let path: string | null = `${notePath(noteId)}/revisions`; path !== null; ) {
      const answer = await this.#http.request(path)
      if (answer.status === 404) return undefined
      if (answer.status !== 200) throw unexpected('the revisions', answer)
      const page: z.infer<typeof RevisionPage> = expectBody(answer, RevisionPage, 'The list of revisions')
      const found = page.revisions.find((item) => item.revision === revision)
      if (found) return found
      path = page.next
    }
    return undefined
  }

  /** How far a revision has come, or undefined when it does not exist. */
  async publication(noteId: string, revision: number): Promise<Publication | undefined> {
    const answer = await this.#http.request(`/publications/${encodeURIComponent(noteId)}/${revision}`)
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw unexpected('the publication', answer)
    return expectBody(answer, Publication, 'The publication')
  }
}

const unexpected = (what: string, answer: Parameters<typeof describe>[0]): CliFailure =>
  new CliFailure('failed', `The write API did not give ${what}: ${describe(answer)}.`)
