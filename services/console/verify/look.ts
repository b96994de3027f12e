import type { Pool } from '../../../core/database.ts'
import { type Finding, findingsOf } from './compare.ts'
import { type Range, rangeOfNote } from './ranges.ts'
import { readCatalog, readInbox, readRecords, readRevisions } from './rows.ts'
import type { Reader } from './source-digests.ts'

/** Both databases, as roles that may only read. */
export type VerifyDatabases = { readonly source: Pool; readonly projection: Pool }

const NOTES_AT_ONCE = 500

/**
 * What differs in these ranges. The projection is read before the source, so that whatever it has, the source
 * must have too, and what it lacks was committed before the source was read.
 */
export async function lookAtRanges(
  { source, projection }: { readonly source: Reader; readonly projection: Reader },
  ranges: readonly Range[],
  deep: boolean,
): Promise<Finding[]> {
  const catalog = await readCatalog(projection, ranges, deep)
  const inbox = await readInbox(projection, ranges)
  const records = await readRecords(projection, ranges)
  const revisions = await readRevisions(source, ranges, deep)
  return findingsOf({ revisions, catalog, records, inbox })
}

/** The same for single notes, as they are now. */
export async function lookAtNotes(
  databases: VerifyDatabases,
  noteIds: ReadonlySet<string>,
  deep: boolean,
): Promise<Finding[]> {
  const ids = [...noteIds]
  const findings: Finding[] = []
  for (let at = 0; at < ids.length; at += NOTES_AT_ONCE) {
    const ranges = ids.slice(at, at + NOTES_AT_ONCE).map(rangeOfNote)
    findings.push(...(await lookAtRanges(databases, ranges, deep)))
  }
  return findings
}
