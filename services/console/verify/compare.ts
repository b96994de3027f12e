import { recordedIntents } from './recorded.ts'
import { type CatalogRow, type EventKey, eventKey, type RecordRow, type RevisionRow } from './rows.ts'

/** Everything both sides hold of some notes. */
export type Sides = {
  readonly revisions: readonly RevisionRow[]
  readonly catalog: readonly CatalogRow[]
  readonly records: readonly RecordRow[]
  readonly inbox: readonly EventKey[]
}

/** The consumer whose ledger names an event. */
export type Ledger = 'audit' | 'catalog'

type OnNote = { readonly noteId: string; readonly revision: number }
type Digests = { readonly sourceDigest: string; readonly projectionDigest: string }

/** One way in which the sides differ now. Whether it is only in flight is not decided here. */
export type Finding =
  /** A canonical revision without an outbox row. */
  | (OnNote & { readonly kind: 'no-intent'; readonly sourceDigest: string })
  /** An intent whose event audit has seen no record of. */
  | (OnNote & { readonly kind: 'no-record'; readonly eventId: string })
  /** The catalog does not have the note at all; `awaited` is the oldest revision that would bring it. */
  | (OnNote & { readonly kind: 'catalog-missing'; readonly sourceDigest: string; readonly awaited: number })
  /** It shows an older revision; `awaited` is the oldest newer one: it has been late for longest. */
  | (OnNote &
      Digests & {
        readonly kind: 'catalog-behind'
        readonly projectionRevision: number
        readonly awaited: number
      })
  /** It shows a revision that the source does not have; revision null: nor the note. */
  | {
      readonly kind: 'catalog-ahead'
      readonly noteId: string
      readonly revision: number | null
      readonly projectionRevision: number
      readonly sourceDigest: string | null
      readonly projectionDigest: string
    }
  | (OnNote & Digests & { readonly kind: 'content-differs' })
  /** A ledger of the projection names an event that no outbox row is the intent of. */
  | (OnNote & {
      readonly kind: 'record-unknown'
      readonly eventId: string
      readonly seenBy: readonly Ledger[]
    })

/** The same finding in a later reading has the same key. */
export function findingKey(finding: Finding): string {
  const { kind, noteId } = finding
  switch (kind) {
    case 'no-intent':
    case 'content-differs':
      return `${kind}:${noteId}:${finding.revision}`
    case 'no-record':
    case 'record-unknown':
      return `${kind}:${eventKey(finding)}`
    case 'catalog-missing':
    case 'catalog-behind':
      return `catalog-late:${noteId}:${finding.awaited}`
    case 'catalog-ahead':
      return `${kind}:${noteId}`
  }
}

/** Compares the rows of some notes; whole notes only. Pure. Sorted by note and revision. */
export function findingsOf(sides: Sides): Finding[] {
  return [...intentFindings(sides), ...unknownFindings(sides), ...catalogFindings(sides)].sort(
    (a, b) =>
      (a.noteId < b.noteId ? -1 : a.noteId > b.noteId ? 1 : 0) || (a.revision ?? 0) - (b.revision ?? 0),
  )
}

function intentFindings({ revisions, records }: Sides): Finding[] {
  const recorded = recordedIntents(revisions, records)
  return revisions.flatMap(({ noteId, revision, digest, eventId, erased }): Finding[] => {
    if (erased) return []
    if (eventId === null) return [{ kind: 'no-intent', noteId, revision, sourceDigest: digest }]
    if (recorded.has(eventKey({ noteId, revision, eventId }))) return []
    return [{ kind: 'no-record', noteId, revision, eventId }]
  })
}

function unknownFindings({ revisions, records, inbox }: Sides): Finding[] {
  const known = new Set(
    revisions.flatMap((row) => (row.eventId === null ? [] : eventKey({ ...row, eventId: row.eventId }))),
  )
  const unknown = new Map<string, { readonly event: EventKey; readonly seenBy: Ledger[] }>()
  const ledgers: [Ledger, readonly EventKey[]][] = [
    ['audit', records],
    ['catalog', inbox],
  ]
  for (const [ledger, events] of ledgers) {
    for (const event of events) {
      const key = eventKey(event)
      if (known.has(key)) continue
      const entry = unknown.get(key) ?? { event, seenBy: [] }
      if (!entry.seenBy.includes(ledger)) entry.seenBy.push(ledger)
      unknown.set(key, entry)
    }
  }
  return [...unknown.values()].map(({ event: { noteId, revision, eventId }, seenBy }) => ({
    kind: 'record-unknown',
    noteId,
    revision,
    eventId,
    seenBy,
  }))
}

function catalogFindings({ revisions, catalog }: Sides): Finding[] {
  const ofNote = Map.groupBy(revisions, ({ noteId }) => noteId)
  const shown = new Map(catalog.map((row) => [row.noteId, row]))
  return [...new Set([...ofNote.keys(), ...shown.keys()])].flatMap((noteId) =>
    catalogFinding(ofNote.get(noteId) ?? [], shown.get(noteId)),
  )
}

function catalogFinding(revisions: readonly RevisionRow[], shown: CatalogRow | undefined): Finding[] {
  const ordered = revisions.toSorted((a, b) => a.revision - b.revision)
  const newest = ordered.at(-1)
  if (!newest) {
    if (!shown) return []
    const { noteId, revision: projectionRevision, digest: projectionDigest } = shown
    return [
      {
        kind: 'catalog-ahead',
        noteId,
        revision: null,
        projectionRevision,
        sourceDigest: null,
        projectionDigest,
      },
    ]
  }
  const { noteId, revision, digest: sourceDigest } = newest
  const awaited = ordered.find((row) => row.revision > (shown?.revision ?? 0))?.revision ?? revision
  if (!shown) return [{ kind: 'catalog-missing', noteId, revision, sourceDigest, awaited }]
  const { revision: projectionRevision, digest: projectionDigest } = shown
  const both = { noteId, revision, sourceDigest, projectionDigest }
  if (projectionRevision < revision) return [{ kind: 'catalog-behind', ...both, projectionRevision, awaited }]
  if (projectionRevision > revision) return [{ kind: 'catalog-ahead', ...both, projectionRevision }]
  return sourceDigest === projectionDigest ? [] : [{ kind: 'content-differs', ...both }]
}
