import type { Kept } from './contract.ts'

/** What the consumers have of one event. */
export type AppliedFacts = {
  readonly eventId: string
  readonly quarantined: boolean
  readonly inAudit: boolean
  /** Generations of catalog, fed or being built, that have not applied it. */
  readonly notAppliedBy: readonly number[]
}

/** Why the envelope is kept; undefined: every consumer is done with it. Pure. */
export function whyKept({ quarantined, inAudit, notAppliedBy }: AppliedFacts): Kept | undefined {
  if (quarantined) return 'quarantined'
  if (!inAudit) return 'not-seen-by-audit'
  return notAppliedBy.length > 0 ? 'not-applied-by-catalog' : undefined
}

export type Counts = Readonly<Partial<Record<Kept, number>>>

/** How a page of candidates divides. Pure. One that the projection said nothing about is kept. */
export function divide(
  eventIds: readonly string[],
  facts: readonly AppliedFacts[],
): { readonly prunable: readonly string[]; readonly kept: Counts } {
  const known = new Map(facts.map((fact) => [fact.eventId, fact]))
  const prunable: string[] = []
  let kept: Counts = {}
  for (const eventId of eventIds) {
    const fact = known.get(eventId)
    const why = fact ? whyKept(fact) : 'not-seen-by-audit'
    if (why === undefined) prunable.push(eventId)
    else kept = added(kept, { [why]: 1 })
  }
  return { prunable, kept }
}

/** Pure. */
export function added(counts: Counts, more: Counts): Counts {
  const sum: Partial<Record<Kept, number>> = { ...counts }
  for (const [why, count] of Object.entries(more) as [Kept, number][]) sum[why] = (sum[why] ?? 0) + count
  return sum
}
