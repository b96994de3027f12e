/**
 * What lies in the databases and in the topic after a run, when nothing moves any more. Read from the stored
 * rows and bytes themselves: every digest is computed by the collectors, none is copied from a column or an
 * event. Contents are not kept, so that a hundred thousand revisions fit into memory.
 */
export type Facts = {
  readonly revisions: readonly CanonicalRevision[]
  readonly intents: readonly Intent[]
  readonly receipts: readonly Receipt[]
  readonly records: readonly TopicRecord[]
  readonly ends: readonly PartitionEnd[]
  readonly audit: readonly AuditRow[]
  readonly inbox: readonly InboxRow[]
  readonly catalog: readonly CatalogRow[]
  readonly quarantine: readonly QuarantineRow[]
  readonly progress: readonly ProgressRow[]
  /** What was written into catalog.inbox and catalog.notes, in order; undefined when the run did not watch. */
  readonly effects: readonly Effect[] | undefined
  readonly liveGeneration: number
}

/** note_revisions of the source. */
export type CanonicalRevision = {
  readonly noteId: string
  readonly revision: number
  readonly digest: string
  readonly visibility: string
}

/** outbox of the source. */
export type Intent = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  /** SHA-256 of the envelope, in hex; null when it was erased. */
  readonly sha256: string | null
}

/** request_receipts of the source. */
export type Receipt = {
  readonly principal: string
  readonly key: string
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
}

/** One record of the topic, with what its own bytes say. */
export type TopicRecord = {
  readonly partition: number
  readonly offset: number
  /** Broker's time of append, in whole milliseconds since 1970. */
  readonly brokerTimeMs: number
  readonly key: string | null
  /** Header `op`: c for a first delivery or its repeat, r for a replay. */
  readonly operation: string | null
  /** Header `id`. */
  readonly eventId: string | null
  /** Header `revision`. */
  readonly revision: number | null
  /** Of the value, in hex; null for a record without value. */
  readonly sha256: string | null
  readonly event: RecordedEvent | undefined
}

/** What the value decodes to; undefined when it does not. */
export type RecordedEvent = {
  readonly eventId: string
  readonly noteId: string
  readonly revision: number
  readonly digest: string
}

/** Offset of the next record of a partition, read together with its records. */
export type PartitionEnd = { readonly partition: number; readonly end: number }

export type Place = { readonly partition: number; readonly offset: number }

/** audit.records. */
export type AuditRow = Place & {
  readonly incarnation: number
  readonly eventId: string | null
  readonly noteId: string | null
  readonly revision: number | null
  readonly sha256: string | null
}

/** catalog.inbox. */
export type InboxRow = {
  readonly generation: number
  readonly eventId: string
  readonly noteId: string
  readonly revision: number
  readonly digest: string
}

/** catalog.notes. */
export type CatalogRow = {
  readonly generation: number
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  readonly digest: string
  readonly visibility: string
}

/** quarantine.records. */
export type QuarantineRow = Place & {
  readonly consumer: string
  readonly eventId: string | null
  readonly noteId: string | null
  readonly revision: number | null
  readonly reason: string
}

/** catalog.progress of the live generation and audit.progress of the first. */
export type ProgressRow = {
  readonly consumer: 'catalog' | 'audit'
  readonly partition: number
  readonly nextOffset: number
}

/** One committed row of catalog.inbox or catalog.notes, as the run's own trigger saw it being written. */
export type Effect = {
  readonly table: 'inbox' | 'notes'
  readonly generation: number
  readonly eventId: string
  readonly noteId: string
  readonly revision: number
  /** The database's clock when the row was written, before its commit; milliseconds since 1970, rounded down. */
  readonly atMs: number
}
