import { type Range, rangeColumns } from './ranges.ts'
import type { Reader } from './source-digests.ts'

/** One event: what an outbox row, a record and an inbox row must agree on. */
export type EventKey = { readonly noteId: string; readonly revision: number; readonly eventId: string }

/** A canonical revision with its intent; eventId null: it has none. */
export type RevisionRow = {
  readonly noteId: string
  readonly revision: number
  readonly digest: string
  readonly eventId: string | null
}

/** A note as the catalog shows it. */
export type CatalogRow = { readonly noteId: string; readonly revision: number; readonly digest: string }

const digestColumn = (deep: boolean) =>
  deep ? 'content_digest(n.title, n.url, n.type, n.body, n.visibility)' : 'n.content_digest'

/** Canonical revisions of the notes in these ranges. */
export async function readRevisions(
  source: Reader,
  ranges: readonly Range[],
  deep: boolean,
): Promise<RevisionRow[]> {
  const { rows } = await source.query<RevisionRow>(
    `SELECT n.note_id AS "noteId", n.revision, ${digestColumn(deep)} AS digest, o.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN note_revisions n ON n.note_id >= range.low COLLATE "C" AND n.note_id < range.high COLLATE "C"
     LEFT JOIN outbox o ON o.note_id = n.note_id AND o.revision = n.revision`,
    rangeColumns(ranges),
  )
  return rows
}

/** Events of these notes of which audit has seen a record, each once. */
export async function readRecords(projection: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const { rows } = await projection.query<EventKey>(
    `SELECT DISTINCT r.note_id AS "noteId", r.revision, r.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN audit.records r ON r.note_id >= range.low COLLATE "C" AND r.note_id < range.high COLLATE "C"
     WHERE r.revision IS NOT NULL AND r.event_id IS NOT NULL`,
    rangeColumns(ranges),
  )
  return rows
}

/** Events of these notes that the live catalog has applied. */
export async function readInbox(projection: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const { rows } = await projection.query<EventKey>(
    `SELECT i.note_id AS "noteId", i.revision, i.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN catalog.inbox i ON i.note_id >= range.low COLLATE "C" AND i.note_id < range.high COLLATE "C"
     WHERE i.generation = (SELECT generation FROM catalog.live_generation)`,
    rangeColumns(ranges),
  )
  return rows
}

/** These notes as the live catalog shows them. */
export async function readCatalog(
  projection: Reader,
  ranges: readonly Range[],
  deep: boolean,
): Promise<CatalogRow[]> {
  const { rows } = await projection.query<CatalogRow>(
    `SELECT n.note_id AS "noteId", n.revision, ${digestColumn(deep)} AS digest
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN catalog.notes n ON n.note_id >= range.low COLLATE "C" AND n.note_id < range.high COLLATE "C"
     WHERE n.generation = (SELECT generation FROM catalog.live_generation)`,
    rangeColumns(ranges),
  )
  return rows
}
