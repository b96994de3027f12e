import { CONFIRMED_BY } from './confirmed-by.ts'
import type { PublicView } from './http/read-api.ts'
import type { CanonicalNote, Publication, RevisionEntry } from './http/write-api.ts'
import { columns, printable } from './output.ts'

/** What `show --json` prints. `revision` is the one asked about; `canonical` the newest, with its text. */
export type Shown = {
  readonly noteId: string
  readonly revision: RevisionEntry
  readonly canonical: CanonicalNote
  readonly public: PublicView
  readonly publication: Publication
}

const TITLE_SHOWN_CHARS = 60
const titleOf = (text: string): string =>
  printable(text.length > TITLE_SHOWN_CHARS ? `${text.slice(0, TITLE_SHOWN_CHARS)}…` : text)
const sizeOf = (body: string): string => `${Buffer.byteLength(body)} bytes`

/** Canonical and public side by side, then the states of the revision asked about. */
export function showLines({ noteId, revision, canonical, public: view, publication }: Shown): string[] {
  const readers =
    view.status === 'public'
      ? [
          String(view.note.revision),
          titleOf(view.note.title),
          view.note.type,
          view.note.url ?? '-',
          'public',
          sizeOf(view.note.body),
          view.note.revisedAt,
          view.etag ?? '-',
        ]
      : view.status === 'withdrawn'
        ? [String(view.revision), '-', '-', '-', 'withdrawn (410)', '-', '-', '-']
        : ['nothing (404)', '-', '-', '-', '-', '-', '-', '-']
  const source = [
    String(canonical.revision),
    titleOf(canonical.title),
    canonical.type,
    canonical.url === null ? '-' : printable(canonical.url),
    canonical.visibility,
    sizeOf(canonical.body),
    canonical.occurredAt,
    canonical.etag,
  ]
  const names = ['revision', 'title', 'type', 'url', 'visibility', 'body', 'saved', 'ETag']
  const { accepted, confirmed, visible } = publication
  return [
    noteId,
    ...columns([
      ['', 'canonical (write API)', 'readers get (read API)'],
      ...names.map((name, index) => [name, source[index] ?? '', readers[index] ?? '']),
    ]),
    `the projection is as of ${view.asOf ?? 'unknown'} (${view.freshness ?? 'unknown'})`,
    '',
    `revision ${revision.revision}, event ${revision.eventId ?? 'none'}: ${publication.state}`,
    ...columns([
      ['  accepted', accepted.answer, accepted.at ?? ''],
      ['  confirmed', confirmed.answer, confirmedText(confirmed)],
      ['  visible', visible.answer, `asked at ${visible.at}`],
    ]),
  ]
}

const confirmedText = ({ observedAt, evidence }: Publication['confirmed']): string =>
  observedAt === null ? CONFIRMED_BY[evidence] : `known at ${observedAt}: ${CONFIRMED_BY[evidence]}`
