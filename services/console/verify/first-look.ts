import type { PoolClient } from '../../../core/database.ts'
import type { Finding } from './compare.ts'
import { lookAtRanges, type VerifyDatabases } from './look.ts'
import { catalogDigests, inboxDigests, recordDigests } from './projection-digests.ts'
import { differingRanges, type Range, rangeOfNote, rangesBetween, rowsIn, unequallyFilled } from './ranges.ts'
import { onSnapshot, type SnapshotTaken } from './snapshot.ts'
import { intentDigests, type Reader, readBounds, revisionDigests } from './source-digests.ts'
import { type Stray, straysOf } from './strays.ts'

export type Scope = {
  /** Only this note; undefined: all. */
  readonly noteId: string | undefined
  /** Compute content digests again from the stored columns. */
  readonly deep: boolean
}

export type Compared = {
  readonly notes: number
  readonly revisions: number
  readonly intents: number
  readonly recordedEvents: number
  readonly appliedEvents: number
  readonly catalogNotes: number
}

export type FirstLook = {
  readonly findings: readonly Finding[]
  readonly strays: readonly Stray[]
  /** false: there are more than the limit, in ranges that were not opened. */
  readonly complete: boolean
  readonly ranges: { readonly all: number; readonly differing: number; readonly opened: number }
  readonly compared: Compared
  readonly snapshots: { readonly source: SnapshotTaken; readonly projection: SnapshotTaken }
  /** performance.now() before anything was read. */
  readonly readAtMs: number
}

/** Ranges opened at a time, so that what is held in memory stays small. */
const RANGES_AT_ONCE = 64

/**
 * Compares both sides as they were at two snapshots, the projection's taken before the source's. Digests over
 * ranges of notes tell where they differ; only the rows of those ranges are fetched.
 * @param limit opens no more ranges when there are that many findings
 */
export function firstLook(
  databases: VerifyDatabases,
  scope: Scope,
  limit: number,
  signal: AbortSignal,
): Promise<FirstLook> {
  const readAtMs = performance.now()
  const onBoth = async (projection: PoolClient, projectionTaken: SnapshotTaken) =>
    onSnapshot(
      databases.source,
      async (source, sourceTaken) => {
        const sides = { source, projection }
        const ranges =
          scope.noteId === undefined ? rangesBetween(await readBounds(source)) : [rangeOfNote(scope.noteId)]
        const { differing, compared } = await compareRanges(sides, ranges, scope.deep)
        const findings: Finding[] = []
        let opened = 0
        while (opened < differing.length && findings.length <= limit) {
          const next = differing.slice(opened, opened + RANGES_AT_ONCE)
          findings.push(...(await lookAtRanges(sides, next, scope.deep)))
          opened += next.length
        }
        return {
          findings,
          strays: await straysOf(sides, scope.noteId, limit),
          complete: opened === differing.length,
          ranges: { all: ranges.length, differing: differing.length, opened },
          compared,
          snapshots: { source: sourceTaken, projection: projectionTaken },
          readAtMs,
        }
      },
      signal,
    )
  return onSnapshot(databases.projection, onBoth, signal)
}

async function compareRanges(
  { source, projection }: { readonly source: Reader; readonly projection: Reader },
  ranges: readonly Range[],
  deep: boolean,
): Promise<{ readonly differing: Range[]; readonly compared: Compared }> {
  const atSource = async () => ({
    intents: await intentDigests(source, ranges),
    ...(await revisionDigests(source, ranges, deep)),
  })
  const atProjection = async () => ({
    records: await recordDigests(projection, ranges),
    inbox: await inboxDigests(projection, ranges),
    catalog: await catalogDigests(projection, ranges, deep),
  })
  const [ours, theirs] = await Promise.all([atSource(), atProjection()])
  const numbers = new Set([
    ...unequallyFilled(ours.revisions, ours.intents.events),
    ...differingRanges(ours.intents.contents, theirs.records),
    ...differingRanges(ours.intents.events, theirs.inbox),
    ...differingRanges(ours.notes, theirs.catalog),
  ])
  return {
    differing: [...numbers].sort((a, b) => a - b).flatMap((number) => ranges[number] ?? []),
    compared: {
      notes: rowsIn(ours.notes),
      revisions: rowsIn(ours.revisions),
      intents: rowsIn(ours.intents.events),
      recordedEvents: rowsIn(theirs.records),
      appliedEvents: rowsIn(theirs.inbox),
      catalogNotes: rowsIn(theirs.catalog),
    },
  }
}
