import { setTimeout as sleep } from 'node:timers/promises'
import { type Finding, findingKey } from './compare.ts'
import { awaitedRevision, isDifference } from './in-flight.ts'
import { lookAtNotes, type VerifyDatabases } from './look.ts'
import { type RevisionFacts, readRevisionFacts } from './revision-facts.ts'

/** A finding that is no delivery under way. */
export type Settled = {
  readonly finding: Finding
  /** Facts of the awaited revision, or of the intent; undefined where nothing is awaited. */
  readonly facts: RevisionFacts | undefined
}

export type Settling = {
  readonly differences: readonly Settled[]
  /** Findings that later readings no longer showed. */
  readonly inFlight: number
  readonly waitedMs: number
}

const PAUSE_MS = { first: 250, longest: 2_000, growth: 1.5 } as const

type Followed = {
  readonly finding: Finding
  readonly firstReadAtMs: number
  readonly looks: number
  readonly facts: RevisionFacts | undefined
  /** When the awaited revision was committed, by our monotonic clock. */
  readonly committedAtMs: number | undefined
}

/**
 * Follows findings until each is gone or a difference, looking again at their notes only. New ones that come up
 * meanwhile are younger than the reading that is asked about, and are left. Ends after the allowed delay.
 * @param readAtMs performance.now() before the reading that showed `findings`
 */
export async function settle(
  databases: VerifyDatabases,
  findings: readonly Finding[],
  {
    readAtMs,
    deep,
    signal,
  }: { readonly readAtMs: number; readonly deep: boolean; readonly signal: AbortSignal },
): Promise<Settling> {
  const startedAtMs = performance.now()
  const differences: Settled[] = []
  let followed = await follow(databases, findings, readAtMs)
  let lastReadAtMs = readAtMs
  let inFlight = 0
  for (
    let pauseMs: number = PAUSE_MS.first;
    ;
    pauseMs = Math.min(pauseMs * PAUSE_MS.growth, PAUSE_MS.longest)
  ) {
    const open: Followed[] = []
    for (const item of followed) {
      if (isDifference(sightingOf(item, lastReadAtMs))) differences.push(item)
      else open.push(item)
    }
    if (open.length === 0) break
    await sleep(pauseMs, undefined, { signal })
    lastReadAtMs = performance.now()
    const noteIds = new Set(open.map(({ finding }) => finding.noteId))
    const again = new Map((await lookAtNotes(databases, noteIds, deep)).map((now) => [findingKey(now), now]))
    followed = open.flatMap((item): Followed[] => {
      const finding = again.get(findingKey(item.finding))
      return finding ? [{ ...item, finding, looks: item.looks + 1 }] : []
    })
    inFlight += open.length - followed.length
  }
  return { differences, inFlight, waitedMs: Math.round(performance.now() - startedAtMs) }
}

async function follow(
  { source }: VerifyDatabases,
  findings: readonly Finding[],
  readAtMs: number,
): Promise<Followed[]> {
  const awaited = findings.flatMap((finding) => {
    const revision = awaitedRevision(finding)
    return revision === undefined ? [] : [{ noteId: finding.noteId, revision }]
  })
  const facts = await readRevisionFacts(source, awaited)
  const factsAtMs = performance.now()
  const factsOf = new Map(facts.map((item) => [`${item.noteId}:${item.revision}`, item]))
  return findings.map((finding) => {
    const found = factsOf.get(`${finding.noteId}:${awaitedRevision(finding)}`)
    const ageMs = found?.ageMs ?? undefined
    return {
      finding,
      firstReadAtMs: readAtMs,
      looks: 1,
      facts: found,
      committedAtMs: ageMs === undefined ? undefined : factsAtMs - ageMs,
    }
  })
}

const sightingOf = (item: Followed, lastReadAtMs: number) => ({
  finding: item.finding,
  looks: item.looks,
  seenForMs: lastReadAtMs - item.firstReadAtMs,
  lateForMs: item.committedAtMs === undefined ? undefined : lastReadAtMs - item.committedAtMs,
})
