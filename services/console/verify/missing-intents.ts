import type { Pool } from '../../../core/database.ts'
import { inCommitOrder } from './commit-order.ts'
import { recordDigests } from './projection-digests.ts'
import { differingRanges, type Range, rangesBetween } from './ranges.ts'
import { recordedIntents } from './recorded.ts'
import { type RevisionFacts, readRevisionFacts } from './revision-facts.ts'
import { type EventKey, eventKey, readRecords, readRevisions } from './rows.ts'
import { onSnapshot } from './snapshot.ts'
import { intentDigests, type Reader, readBounds } from './source-digests.ts'

/** An intent that no consumer has seen a record of. */
export type MissingIntent = EventKey & RevisionFacts

export type MissingIntents = {
  /** In commit order, oldest first; of one note always in revision order. */
  readonly keys: readonly MissingIntent[]
  /** false: there are more than the limit; what is listed is then not the oldest of all. */
  readonly complete: boolean
}

/** Ranges opened at a time, so that what is held in memory stays small. */
export const RANGES_AT_ONCE = 64

/**
 * Finds the intents without a record in `audit`, from the rows themselves on both sides: a million notes take
 * seconds. The projection is read first, so that a record that arrives meanwhile is never called missing for
 * being newer than the reading; an intent that was committed within the last `inFlightMs` is in flight
 * and left out. Rejects when a database is away.
 * @param limit at most that many keys; each takes some hundred bytes
 */
export async function intentsWithoutRecord(
  databases: { readonly source: Pool; readonly projection: Pool },
  { inFlightMs = 0, limit = 1_000_000 }: { readonly inFlightMs?: number; readonly limit?: number } = {},
): Promise<MissingIntents> {
  return onSnapshot(databases.projection, (projection) =>
    onSnapshot(databases.source, async (source) => {
      const ranges = rangesBetween(await readBounds(source))
      const [intents, records] = await Promise.all([
        intentDigests(source, ranges),
        recordDigests(projection, ranges),
      ])
      const open = differingRanges(intents.contents, records).flatMap((number) => ranges[number] ?? [])
      const missing: EventKey[] = []
      for (let at = 0; at < open.length && missing.length <= limit; at += RANGES_AT_ONCE) {
        missing.push(...(await missingIn(source, projection, open.slice(at, at + RANGES_AT_ONCE))))
      }
      const facts = await readRevisionFacts(source, missing)
      const factsOf = new Map(facts.map((item) => [`${item.noteId}:${item.revision}`, item]))
      const keys = missing
        .flatMap((key): MissingIntent[] => {
          const found = factsOf.get(`${key.noteId}:${key.revision}`)
          return found ? [{ ...key, ...found }] : []
        })
        .filter(({ ageMs }) => ageMs === null || ageMs >= inFlightMs)
      return { keys: inCommitOrder(keys).slice(0, limit), complete: missing.length <= limit }
    }),
  )
}

async function missingIn(source: Reader, projection: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const [revisions, records] = await Promise.all([
    readRevisions(source, ranges, false),
    readRecords(projection, ranges),
  ])
  const recorded = recordedIntents(revisions, records)
  return revisions
    .filter(({ erased }) => !erased)
    .flatMap(({ noteId, revision, eventId }) => (eventId === null ? [] : [{ noteId, revision, eventId }]))
    .filter((intent) => !recorded.has(eventKey(intent)))
}
