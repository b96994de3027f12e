import type { Canonical, HistoryEntry, PublicationPoll, Read } from '../history.ts'

/** One note as a client of the public read API saw it, itself or through the write API. */
export type Observation = {
  readonly noteId: string
  /** 0: there was no such note. */
  readonly revision: number
  /** `unsaid`: the answer names the revision but not whether readers get it. */
  readonly shown: 'public' | 'withdrawn' | 'absent' | 'unsaid'
  readonly asOf: string | null
}

/** What an entry says about public notes; nothing when its answer says nothing (503, 429, none). */
export function observationsOf(entry: HistoryEntry): Observation[] {
  switch (entry.kind) {
    case 'read':
      return ofRead(entry)
    case 'list':
      return entry.items.map(({ noteId, revision }) => ({
        noteId,
        revision,
        shown: 'public',
        asOf: entry.asOf,
      }))
    case 'publication':
      return ofPublication(entry)
    case 'run':
    case 'command':
    case 'canonical':
    case 'event':
    case 'fault':
      return []
  }
}

function ofRead({ noteId, status, revision, asOf }: Read): Observation[] {
  switch (status) {
    case 200:
    case 304:
      return revision === null ? [] : [{ noteId, revision, shown: 'public', asOf }]
    case 410:
      return revision === null ? [] : [{ noteId, revision, shown: 'withdrawn', asOf }]
    case 404:
      return [{ noteId, revision: 0, shown: 'absent', asOf }]
    case 503:
      // The revision asked for is not there yet: the answer says which one is.
      return revision === null ? [] : [{ noteId, revision, shown: 'unsaid', asOf }]
    default:
      return []
  }
}

function ofPublication({ noteId, answer }: PublicationPoll): Observation[] {
  if (!answer || answer.visible === 'unknown') return []
  const { visible, shownRevision, asOf } = answer
  if (shownRevision === null) return [{ noteId, revision: 0, shown: 'absent', asOf }]
  const shown = visible === 'yes' ? 'public' : visible === 'withdrawn' ? 'withdrawn' : 'unsaid'
  return [{ noteId, revision: shownRevision, shown, asOf }]
}

/** The revision that the write API showed of a note; 0: it has none; undefined: the answer does not say. */
export function revisionRead({ status, revision }: Canonical): number | undefined {
  if (status === 404) return 0
  return (status === 200 || status === 304) && revision !== null ? revision : undefined
}
