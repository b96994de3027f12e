import { type Finding, findingKey } from './compare.ts'
import type { Difference, DifferenceClass, Result } from './contract.ts'
import { CLASSES } from './contract.ts'
import { differenceOf, inOrder, type Reach, strayDifference } from './difference.ts'
import { firstLook, type Scope } from './first-look.ts'
import { lookAtNotes, type VerifyDatabases } from './look.ts'
import { auditReach, type ReadTopic, relayReach } from './relay-reach.ts'
import { type Settled, settle } from './settle.ts'

export type VerifyParts = VerifyDatabases & {
  readonly topic: string
  readonly slotName: string
  readonly readTopic: ReadTopic
  /** Has the connector failed because its position and the slot do not fit? */
  readonly hasMismatch: () => Promise<boolean>
}

/** Differences that are kept and listed; beyond it no more ranges are opened, and the result says so. */
export const MAX_DIFFERENCES = 100_000

export type Verified = { readonly result: Result; readonly differences: readonly Difference[] }

/**
 * Compares source and projection row by row, without trusting a counter of either: looks once at everything,
 * then again at what differed until it is gone or older than the allowed delay, and asks how far the relay and
 * audit are before it calls an intent skipped. Writes nothing. Rejects when a database is away.
 */
export async function verify(parts: VerifyParts, scope: Scope, signal: AbortSignal): Promise<Verified> {
  const startedAtMs = performance.now()
  const look = await firstLook(parts, scope, MAX_DIFFERENCES, signal)
  const comparedAtMs = performance.now()
  const settled = await settle(parts, look.findings, { readAtMs: look.readAtMs, deep: scope.deep, signal })
  const { differences: late, reach } = await whatTheRelayBrought(parts, settled.differences, scope, signal)
  const differences = [
    ...late.map((item) => differenceOf(item, reach)),
    ...look.strays.map(strayDifference),
  ].sort(inOrder)
  return {
    differences,
    result: {
      equal: differences.length === 0 && look.complete,
      complete: look.complete,
      counts: countsOf(differences),
      inFlight: settled.inFlight + settled.differences.length - late.length,
      compared: look.compared,
      ranges: look.ranges,
      comparingMs: Math.round(comparedAtMs - startedAtMs),
      waitedMs: Math.round(performance.now() - comparedAtMs),
      snapshots: {
        source: { ...look.snapshots.source, at: look.snapshots.source.at.toISOString() },
        projection: { ...look.snapshots.projection, at: look.snapshots.projection.at.toISOString() },
      },
    },
  }
}

/**
 * When intents lack records: waits for the relay, then for audit, and looks again, so that what they brought
 * meanwhile is not called missing.
 */
async function whatTheRelayBrought(
  parts: VerifyParts,
  differences: readonly Settled[],
  { deep }: Scope,
  signal: AbortSignal,
): Promise<{ readonly differences: readonly Settled[]; readonly reach: Reach | undefined }> {
  if (!differences.some(({ finding }) => finding.kind === 'no-record'))
    return { differences, reach: undefined }
  const relay = await relayReach(parts, parts.hasMismatch, signal)
  const audit = await auditReach(parts, parts.readTopic, signal)
  const noteIds = new Set(differences.map(({ finding }) => finding.noteId))
  const now = new Map<string, Finding>()
  for (const finding of await lookAtNotes(parts, noteIds, deep)) now.set(findingKey(finding), finding)
  const still = differences.flatMap((item): Settled[] => {
    const finding = now.get(findingKey(item.finding))
    return finding ? [{ ...item, finding }] : []
  })
  return { differences: still, reach: { relay, audit } }
}

function countsOf(differences: readonly Difference[]): Record<DifferenceClass, number> {
  const counts = Object.fromEntries(Object.keys(CLASSES).map((name) => [name, 0]))
  for (const difference of differences) counts[difference.class] = (counts[difference.class] ?? 0) + 1
  return counts as Record<DifferenceClass, number>
}
