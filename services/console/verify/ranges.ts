/** Note ids from `low` to below `high`, compared byte by byte (COLLATE "C" in both databases). */
export type Range = { readonly low: string; readonly high: string }

/** Below and above every note id. Written with characters that no note id can have. */
const BEFORE_ALL = ''
const AFTER_ALL = '~'

/** Just above `noteId` and below every other id that starts with it: "!" sorts before what an id may go on with. */
export const rangeOfNote = (noteId: string): Range => ({ low: noteId, high: `${noteId}!` })

/** Range number i ends before bounds[i]: the numbering of PostgreSQL's width_bucket. */
export function rangeAt(bounds: readonly string[], index: number): Range {
  return { low: bounds[index - 1] ?? BEFORE_ALL, high: bounds[index] ?? AFTER_ALL }
}

/** What a set of rows holds in one range: how many, and 64 bits over all of them. */
export type RangeDigest = { readonly rows: number; readonly hash: string }
export type RangeDigests = ReadonlyMap<number, RangeDigest>

const NOTHING: RangeDigest = { rows: 0, hash: '0' }

/** Numbers of the ranges in which two sets differ, rising. A range that one side does not name is empty there. */
export function differingRanges(one: RangeDigests, other: RangeDigests): number[] {
  const numbers = new Set([...one.keys(), ...other.keys()])
  return [...numbers]
    .filter((number) => {
      const [a, b] = [one.get(number) ?? NOTHING, other.get(number) ?? NOTHING]
      return a.rows !== b.rows || a.hash !== b.hash
    })
    .sort((a, b) => a - b)
}

export const rowsIn = (digests: RangeDigests): number =>
  [...digests.values()].reduce((sum, { rows }) => sum + rows, 0)
