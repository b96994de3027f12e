/** Note ids from `low` to below `high`, compared byte by byte (COLLATE "C" in both databases). */
export type Range = { readonly low: string; readonly high: string }

/** Below and above every note id. Written with characters that no note id can have. */
const BEFORE_ALL = ''
const AFTER_ALL = '~'

/** Just above `noteId` and below every other id that starts with it: "!" sorts before what an id may go on with. */
export const rangeOfNote = (noteId: string): Range => ({ low: noteId, high: `${noteId}!` })

/** Ranges that together hold every note id, split at `bounds`, which rise. */
export const rangesBetween = (bounds: readonly string[]): Range[] =>
  [...bounds, AFTER_ALL].map((high, index) => ({ low: bounds[index - 1] ?? BEFORE_ALL, high }))

/** As parameters `unnest($1::text[], $2::text[])`. */
export const rangeColumns = (ranges: readonly Range[]): [lows: string[], highs: string[]] => [
  ranges.map(({ low }) => low),
  ranges.map(({ high }) => high),
]

/**
 * What a set of rows holds in one range: how many, and the XOR of 64 bits of each row. Rows that differ give
 * the same 64 bits once in 2^64; a hash that two versions of PostgreSQL compute differently only opens ranges.
 */
export type RangeDigest = { readonly rows: number; readonly hash: string }
/** By the number of the range; a range that holds nothing may be absent. */
export type RangeDigests = ReadonlyMap<number, RangeDigest>

const NOTHING: RangeDigest = { rows: 0, hash: '0' }

export const digestsOf = (rows: readonly (RangeDigest & { readonly range: number })[]): RangeDigests =>
  new Map(rows.map(({ range, rows, hash }) => [range, { rows, hash }]))

/** Numbers of the ranges in which two sets differ, rising. */
export function differingRanges(one: RangeDigests, other: RangeDigests): number[] {
  const numbers = new Set([...one.keys(), ...other.keys()])
  return [...numbers]
    .filter((number) => {
      const [a, b] = [one.get(number) ?? NOTHING, other.get(number) ?? NOTHING]
      return a.rows !== b.rows || a.hash !== b.hash
    })
    .sort((a, b) => a - b)
}

/** Numbers of the ranges in which two sets do not have equally many rows, rising. */
export const unequallyFilled = (one: RangeDigests, other: RangeDigests): number[] =>
  [...new Set([...one.keys(), ...other.keys()])]
    .filter((number) => (one.get(number) ?? NOTHING).rows !== (other.get(number) ?? NOTHING).rows)
    .sort((a, b) => a - b)

export const rowsIn = (digests: RangeDigests): number =>
  [...digests.values()].reduce((sum, { rows }) => sum + rows, 0)
