import type { PublicationKey } from './source-facts.ts'

/** An index entry that a list looks at. */
export type Candidate = {
  /** undefined: it names no publication, or one that is known to be in order. */
  readonly key: PublicationKey | undefined
  /** Where the lane goes on behind it. */
  readonly position: readonly string[]
  /** What it is in its lane: a publication that several entries lead to is listed for one of them. */
  readonly entry?: string
}

/**
 * One way through an index that leads to publications of a state. Each reading takes the next `limit` entries
 * behind a position and no more, whatever they are.
 */
export type Lane = {
  readonly name:
    | 'without-intent'
    | 'skipped'
    | 'unchecked'
    | 'unslotted'
    | 'quarantine'
    | 'ahead'
    | 'notes'
    | 'gaps'
    | 'inbox'
  read(after: readonly string[] | undefined, limit: number): Promise<readonly Candidate[]>
}

/** A position as it came in a cursor that is none of this lane's. */
export class ForeignCursor extends Error {
  override name = 'ForeignCursor'
}

/** @throws ForeignCursor when a member does not match its pattern */
export function members(
  after: readonly string[] | undefined,
  patterns: readonly RegExp[],
): readonly string[] | undefined {
  if (after === undefined) return undefined
  const fits =
    after.length === patterns.length && patterns.every((pattern, at) => pattern.test(after[at] ?? ''))
  if (!fits) throw new ForeignCursor('the cursor is of another list')
  return after
}

/** Microseconds since 1970, offsets, transaction ids: what PostgreSQL takes as a time or a bigint. */
export const DIGITS = /^\d{1,17}$/
/** Incarnations and partitions. */
export const SMALL = /^\d{1,9}$/
export const NOTE = /^[A-Za-z0-9._-]{1,64}$/
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export const REVISION = /^\d{1,9}$|^1\d{9}$|^20\d{8}$|^21[0-4]\d{7}$/
