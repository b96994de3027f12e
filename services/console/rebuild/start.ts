/** Where a new generation begins, as an operator says it. */
export type Start =
  /** The first record of every partition that Kafka still has. */
  | { readonly kind: 'beginning' }
  /** These records; a partition that is not named begins at its first. */
  | { readonly kind: 'offset'; readonly offsets: ReadonlyMap<number, number> }
  /** The first record of every partition at or after this time, by the broker's clock. */
  | { readonly kind: 'time'; readonly at: Date }
  /** The canonical revisions of the source, then what comes after them. */
  | { readonly kind: 'source' }
export type StartKind = Start['kind']

export const START_CHARS = 2_000
/** What JSON Schema can say of a start; `parseStart` says the rest. */
export const START_PATTERN =
  '^(beginning|source|offset:[0-9]{1,6}=[0-9]{1,15}(,[0-9]{1,6}=[0-9]{1,15})*|time:[0-9]{4}-[0-9T:.+Zz-]{6,40})$'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/** `beginning`, `offset:0=12,1=5`, `time:2026-01-31T12:00:00Z` or `source`. Pure. undefined: it is none of them. */
export function parseStart(text: string): Start | undefined {
  if (text === 'beginning' || text === 'source') return { kind: text }
  if (text.startsWith('time:')) return timeStart(text.slice('time:'.length))
  if (text.startsWith('offset:')) return offsetStart(text.slice('offset:'.length))
  return undefined
}

function timeStart(text: string): Start | undefined {
  const at = new Date(TIME.test(text) ? text : Number.NaN)
  return Number.isNaN(at.getTime()) || at.getTime() < 0 ? undefined : { kind: 'time', at }
}

function offsetStart(text: string): Start | undefined {
  const offsets = new Map<number, number>()
  for (const pair of text.split(',')) {
    const [, partition, offset] = /^(\d{1,6})=(\d{1,15})$/.exec(pair) ?? []
    if (partition === undefined || offset === undefined || offsets.has(Number(partition))) return undefined
    offsets.set(Number(partition), Number(offset))
  }
  return { kind: 'offset', offsets }
}

/** The start as one would write it; `parseStart` reads it again. */
export function startText(start: Start): string {
  switch (start.kind) {
    case 'beginning':
    case 'source':
      return start.kind
    case 'time':
      return `time:${start.at.toISOString()}`
    case 'offset':
      return `offset:${[...start.offsets].map((pair) => pair.join('=')).join(',')}`
  }
}
