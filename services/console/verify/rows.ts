import { type Range, rangeColumns } from './ranges.ts'
import type { Reader } from './source-digests.ts'

/** One event: what an outbox row, a record and an inbox row must agree on. */
export type EventKey = { readonly noteId: string; readonly revision: number; readonly eventId: string }

export const eventKey = ({ noteId, revision, eventId }: EventKey): string =>
  `${noteId}:${revision}:${eventId}`

/** A record, as audit saw it. `sha256` of its value, in hex; null when it had none. */
export type RecordRow = EventKey & { readonly sha256: string | null }

/** A canonical revision with its intent; eventId null: it has none. */
export type RevisionRow = {
  readonly noteId: string
  readonly revision: number
  readonly digest: string
  readonly eventId: string | null
  /** Of what a record of the intent holds, in hex; null when its content was erased. */
  readonly envelopeSha256: string | null
  /** Its content was erased on request: what never had a record, or an intent, needs none any more. */
  readonly erased?: boolean
}

/** A note as the catalog shows it. */
export type CatalogRow = { readonly noteId: string; readonly revision: number; readonly digest: string }

// Each range is a subquery of its own (OFFSET 0 keeps it one): joined, the planner reads the whole table for
// every range.

const digestColumn = (deep: boolean) =>
  deep ? 'content_digest(n.title, n.url, n.type, n.body, n.visibility)' : 'n.content_digest'

/** Canonical revisions of the notes in these ranges. */
export async function readRevisions(
  source: Reader,
  ranges: readonly Range[],
  deep: boolean,
): Promise<RevisionRow[]> {
  const { rows } = await source.query<RevisionRow>(
    `SELECT n.note_id AS "noteId", n.revision, ${digestColumn(deep)} AS digest,
            n.erased_at IS NOT NULL AS erased, intent.event_id AS "eventId", encode(intent.envelope_sha256, 'hex') AS "envelopeSha256"
     FROM unnest($1::text[], $2::text[]) AS range (low, high),
     LATERAL (SELECT * FROM note_revisions
              WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C" OFFSET 0) n
     LEFT JOIN LATERAL (SELECT event_id, envelope_sha256 FROM outbox o
                        WHERE o.note_id = n.note_id AND o.revision = n.revision OFFSET 0) intent ON true`,
    rangeColumns(ranges),
  )
  return rows
}

/** Records of these notes that name an event; records that say the same once. */
export async function readRecords(projection: Reader, ranges: readonly Range[]): Promise<RecordRow[]> {
  const { rows } = await projection.query<RecordRow>(
    `SELECT r.note_id AS "noteId", r.revision, r.event_id AS "eventId", encode(r.value_sha256, 'hex') AS sha256
     FROM unnest($1::text[], $2::text[]) AS range (low, high),
     LATERAL (SELECT DISTINCT note_id, revision, event_id, value_sha256 FROM audit.records
              WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
                AND revision IS NOT NULL AND event_id IS NOT NULL) r`,
    rangeColumns(ranges),
  )
  return rows
}

/** Events of these notes that the live catalog has applied. */
export async function readInbox(projection: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const { rows } = await projection.query<EventKey>(
    `SELECT i.note_id AS "noteId", i.revision, i.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high),
     LATERAL (SELECT note_id, revision, event_id FROM catalog.inbox
              WHERE generation = (SELECT generation FROM catalog.live_generation)
                AND note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C" OFFSET 0) i`,
    rangeColumns(ranges),
  )
  return rows
}

/** These notes as a generation of the catalog shows them. @param generation null: the live one */
export async function readCatalog(
  projection: Reader,
  ranges: readonly Range[],
  deep: boolean,
  generation: number | null = null,
): Promise<CatalogRow[]> {
  const { rows } = await projection.query<CatalogRow>(
    `SELECT n.note_id AS "noteId", n.revision, ${digestColumn(deep)} AS digest
     FROM unnest($1::text[], $2::text[]) AS range (low, high),
     LATERAL (SELECT * FROM catalog.notes
              WHERE generation = coalesce($3::int, (SELECT generation FROM catalog.live_generation))
                AND note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C" OFFSET 0) n`,
    [...rangeColumns(ranges), generation],
  )
  return rows
}
