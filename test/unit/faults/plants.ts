import type { Facts } from '../../faults/checker/facts.ts'
import type { HistoryEntry } from '../../faults/history.ts'
import { missing, type Story } from './story.ts'

type Of<K extends HistoryEntry['kind']> = Extract<HistoryEntry, { kind: K }>

/** The first entry of a kind that fits; the story has it. */
export function entryOf<K extends HistoryEntry['kind']>(
  { history }: Story,
  kind: K,
  fits: (entry: Of<K>) => boolean = () => true,
): Of<K> {
  const found = history.find((entry) => entry.kind === kind && fits(entry as Of<K>))
  return (found as Of<K> | undefined) ?? missing()
}

/** Puts an altered copy in the place of an entry. */
export function alter<K extends HistoryEntry['kind']>(
  story: Story,
  entry: Of<K>,
  change: { readonly [M in keyof Of<K>]?: Of<K>[M] },
): void {
  story.history[story.history.indexOf(entry)] = { ...entry, ...change }
}

/** Adds an entry behind all others, as long after them as one request takes. */
export function append<K extends 'read' | 'list' | 'event' | 'publication' | 'command' | 'canonical'>(
  { history }: Story,
  entry: Of<K>,
  change: { readonly [M in keyof Of<K>]?: Of<K>[M] },
): void {
  const last = history.at(-1)
  if (!last || !('endedAt' in last)) throw new Error('the history ends with no request')
  history.push({
    ...entry,
    startMs: last.endMs + 1,
    endMs: last.endMs + 2,
    endedAt: last.endedAt + 2,
    ...change,
  } as HistoryEntry)
}

type Table = {
  [K in keyof Facts]: NonNullable<Facts[K]> extends readonly (infer _Row)[] ? K : never
}[keyof Facts]
type RowOf<T extends Table> = NonNullable<Facts[T]> extends readonly (infer Row)[] ? Row : never

function rowsOf<T extends Table>({ facts }: Story, table: T): RowOf<T>[] {
  return (facts[table] ?? missing()) as unknown as RowOf<T>[]
}

const indexOf = <T extends Table>(story: Story, table: T, where: Partial<RowOf<T>>): number => {
  const index = rowsOf(story, table).findIndex((row) =>
    Object.entries(where).every(([name, value]) => row[name as keyof RowOf<T>] === value),
  )
  return index < 0 ? missing() : index
}

export const remove = <T extends Table>(story: Story, table: T, where: Partial<RowOf<T>>): void => {
  rowsOf(story, table).splice(indexOf(story, table, where), 1)
}

export const change = <T extends Table>(
  story: Story,
  table: T,
  where: Partial<RowOf<T>>,
  to: Partial<RowOf<T>>,
): void => {
  const index = indexOf(story, table, where)
  const rows = rowsOf(story, table)
  rows[index] = { ...(rows[index] ?? missing()), ...to }
}

/** Adds a row made from another one. */
export const add = <T extends Table>(
  story: Story,
  table: T,
  like: Partial<RowOf<T>>,
  to: Partial<RowOf<T>> = {},
): void => {
  const rows = rowsOf(story, table)
  rows.push({ ...(rows[indexOf(story, table, like)] ?? missing()), ...to })
}
