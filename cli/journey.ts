import { createPool, type Pool } from '../core/database.ts'
import { createLogger } from '../core/log.ts'
import type { CliContext } from './context.ts'
import type { ReadApi } from './http/read-api.ts'
import type { Publication, WriteApi } from './http/write-api.ts'

/**
 * The way of one revision, with the time of each step and where that was read. Times are RFC 3339, UTC, in
 * milliseconds; each is by the clock of the part that took the step. A step nobody could tell is null, and
 * `gaps` says why. `notesctl journey --json` prints exactly this.
 */
export type Journey = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string | null
  /** Commit of note, revision and intent in the source database. */
  readonly committed: { readonly at: string; readonly readFrom: string } | null
  /**
   * `observedAt`: when that was last observed, not when it happened; every look finds it later.
   * `evidence`: the watcher recorded that the relay is past the commit, a consumer saw its record, or readers see it.
   */
  readonly confirmed: {
    readonly observedAt: string | null
    readonly evidence: Publication['confirmed']['evidence']
    readonly readFrom: string
  } | null
  /** The first record the audit consumer saw; `records` counts all of them (more than 1: duplicates or replays). */
  readonly kafka: {
    readonly topic: string
    readonly partition: number
    readonly offset: string
    readonly brokerTime: string
    readonly records: number
    readonly readFrom: string
  } | null
  readonly audit: { readonly seenAt: string; readonly readFrom: string } | null
  readonly catalog: { readonly appliedAt: string; readonly readFrom: string } | null
  /** `at`: when the read API was asked and showed it; by this process's clock, so not the first moment it could be seen. */
  readonly visible: {
    readonly at: string
    readonly as: 'public' | 'withdrawn' | 'superseded'
    readonly shownRevision: number
    readonly projectionAsOf: string | null
    readonly readFrom: string
  } | null
  readonly gaps: readonly { readonly step: string; readonly why: string }[]
}

export type JourneyParts = {
  readonly writeApi: WriteApi
  readonly readApi: ReadApi
  /** Undefined when no projection database is configured: Kafka's place and the consumers' times are gaps then. */
  readonly projection: Pool | undefined
}

/** Makes the parts from the settings; `close` ends the database connection. */
export function journeyParts(context: CliContext): JourneyParts & { close(): Promise<void> } {
  const { settings } = context
  const projection = settings.has('PROJECTION_DATABASE_URL')
    ? createPool(
        {
          url: settings.require('PROJECTION_DATABASE_URL').PROJECTION_DATABASE_URL,
          applicationName: 'notesctl',
          size: 1,
        },
        createLogger('notesctl', 'silent'),
      )
    : undefined
  return {
    writeApi: context.writeApi(),
    readApi: context.readApi(),
    projection,
    close: async () => projection?.end(),
  }
}

const READ_CONSUMERS = `
  SELECT r.topic, r.partition, r."offset"::text AS "offset", r.broker_time, r.seen_at, r.committed_at,
         count(*) OVER ()::int AS records,
         (SELECT i.applied_at FROM catalog.inbox i JOIN catalog.live_generation USING (generation)
          WHERE i.note_id = $1 AND i.revision = $2) AS applied_at
  FROM (SELECT 1) one
  LEFT JOIN audit.records r ON r.note_id = $1 AND r.revision = $2
  ORDER BY r.seen_at LIMIT 1`

type ConsumersRow = {
  readonly topic: string | null
  readonly partition: number
  readonly offset: string
  readonly broker_time: Date
  readonly seen_at: Date
  readonly committed_at: Date | null
  readonly records: number
  readonly applied_at: Date | null
}

const FROM = {
  publication: 'write API, GET /publications',
  audit: 'projection database, audit.records',
  inbox: 'projection database, catalog.inbox',
  readApi: 'read API, GET /notes',
} as const

/**
 * Where one revision has got to. Undefined when the source does not have it.
 * @throws CliFailure when an API is away. A projection database that is away is a gap.
 */
export async function traceJourney(
  noteId: string,
  revision: number,
  { writeApi, readApi, projection }: JourneyParts,
): Promise<Journey | undefined> {
  const publication = await writeApi.publication(noteId, revision)
  if (!publication) return undefined
  const gaps: { step: string; why: string }[] = []
  const { accepted, confirmed } = publication
  if (accepted.at === null)
    gaps.push({ step: 'committed', why: 'the source no longer knows the commit time' })
  if (confirmed.answer !== 'yes')
    gaps.push({ step: 'confirmed', why: `the write API says: ${confirmed.answer}` })

  const consumers = await readConsumers(noteId, revision, projection, gaps)
  const visible = await readVisible(noteId, revision, readApi, gaps)
  return {
    noteId,
    revision,
    eventId: publication.eventId,
    committed: accepted.at === null ? null : { at: accepted.at, readFrom: FROM.publication },
    confirmed:
      confirmed.answer === 'yes'
        ? {
            observedAt: confirmed.observedAt,
            evidence: confirmed.evidence,
            readFrom: FROM.publication,
          }
        : null,
    ...consumers,
    visible,
    gaps,
  }
}

async function readConsumers(
  noteId: string,
  revision: number,
  projection: Pool | undefined,
  gaps: { step: string; why: string }[],
): Promise<Pick<Journey, 'kafka' | 'audit' | 'catalog'>> {
  const unknown = (why: string) => {
    for (const step of ['kafka', 'audit', 'catalog']) gaps.push({ step, why })
    return { kafka: null, audit: null, catalog: null }
  }
  if (!projection) return unknown('PROJECTION_DATABASE_URL is not set, so the consumers could not be asked')
  let row: ConsumersRow | undefined
  try {
    row = (await projection.query<ConsumersRow>(READ_CONSUMERS, [noteId, revision])).rows[0]
  } catch (error) {
    return unknown(`the projection database could not be asked: ${(error as Error).message}`)
  }
  const seen = row?.topic != null
  if (!seen) {
    gaps.push({ step: 'kafka', why: 'no consumer has seen a record of it' })
    gaps.push({ step: 'audit', why: 'it has seen no record of it' })
  }
  if (!row?.applied_at) gaps.push({ step: 'catalog', why: 'the live catalog has not applied it' })
  return {
    kafka:
      row?.topic != null
        ? {
            topic: row.topic,
            partition: row.partition,
            offset: row.offset,
            brokerTime: row.broker_time.toISOString(),
            records: row.records,
            readFrom: FROM.audit,
          }
        : null,
    audit: row && seen ? { seenAt: row.seen_at.toISOString(), readFrom: FROM.audit } : null,
    catalog: row?.applied_at ? { appliedAt: row.applied_at.toISOString(), readFrom: FROM.inbox } : null,
  }
}

async function readVisible(
  noteId: string,
  revision: number,
  readApi: ReadApi,
  gaps: { step: string; why: string }[],
): Promise<Journey['visible']> {
  const view = await readApi.view(noteId)
  const shownRevision =
    view.status === 'absent' ? 0 : view.status === 'public' ? view.note.revision : view.revision
  if (view.status === 'absent' || shownRevision < revision) {
    gaps.push({
      step: 'visible',
      why: `readers get ${shownRevision === 0 ? 'nothing' : `revision ${shownRevision}`}`,
    })
    return null
  }
  return {
    at: new Date().toISOString(),
    as: shownRevision > revision ? 'superseded' : view.status,
    shownRevision,
    projectionAsOf: view.asOf,
    readFrom: FROM.readApi,
  }
}
