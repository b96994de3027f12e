import type { CatalogNote, NoteReading, Quarantined } from './catalog.ts'

/** What to answer for one note, given one reading of the catalog. */
export type Decision =
  | { readonly status: 'visible'; readonly note: CatalogNote }
  | { readonly status: 'withdrawn'; readonly note: CatalogNote }
  | { readonly status: 'unknown-note' }
  | { readonly status: 'not-yet'; readonly visibleRevision: number | undefined }
  | {
      readonly status: 'quarantined'
      readonly visibleRevision: number | undefined
      readonly quarantined: Quarantined
    }

/**
 * A newer revision satisfies `minRevision`, whatever became of the wanted one. Only `not-yet` is worth
 * waiting for: an unknown note with a wanted revision may be on its way.
 */
export function decide({ note, quarantined }: NoteReading, minRevision: number | undefined): Decision {
  if (minRevision !== undefined && (note === undefined || note.revision < minRevision)) {
    const visibleRevision = note?.revision
    return quarantined
      ? { status: 'quarantined', visibleRevision, quarantined }
      : { status: 'not-yet', visibleRevision }
  }
  if (!note) return { status: 'unknown-note' }
  return { status: note.visibility === 'withdrawn' ? 'withdrawn' : 'visible', note }
}
