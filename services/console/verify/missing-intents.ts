import type { Pool } from '../../../core/database.ts'
import { inCommitOrder } from './commit-order.ts'
import { type RevisionFacts, readRevisionFacts } from './intent-facts.ts'
import { intentDigests, readBounds, recordDigests } from './range-digests.ts'
import { differingRanges, type Range, rangeAt } from './ranges.ts'
import { type EventKey, readIntents, readRecords } from './rows.ts'
import { onSnapshot } from './snapshot.ts'

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

const keyOf = ({ noteId, revision, eventId }: EventKey): string => `${noteId}:${revision}:${eventId}`

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
      const bounds = await readBounds(source)
      const [intents, records] = await Promise.all([
        intentDigests(source, bounds),
        recordDigests(projection, bounds),
      ])
      const open = differingRanges(intents, records).map((number) => rangeAt(bounds, number))
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

async function missingIn(
  source: Parameters<typeof readIntents>[0],
  projection: Parameters<typeof readRecords>[0],
  ranges: readonly Range[],
): Promise<EventKey[]> {
  const [intents, records] = await Promise.all([readIntents(source, ranges), readRecords(projection, ranges)])
  const seen = new Set(records.map(keyOf))
  return intents.filter((intent) => !seen.has(keyOf(intent)))
}
