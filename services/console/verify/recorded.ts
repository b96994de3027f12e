import { eventKey, type RecordRow, type RevisionRow } from './rows.ts'

type Intent = Pick<RevisionRow, 'noteId' | 'revision' | 'eventId' | 'envelopeSha256'>

/**
 * Intents of which there is a record, by eventKey. Pure. Whoever may write to the topic can name any event in a
 * header: a record counts only with the bytes of the intent, unless those were erased. What else names the
 * event is in the quarantine, and no difference by itself.
 */
export function recordedIntents(
  intents: readonly Intent[],
  records: readonly RecordRow[],
): ReadonlySet<string> {
  const contents = new Map<string, Set<string | null>>()
  for (const record of records) {
    const key = eventKey(record)
    const known = contents.get(key)
    if (known) known.add(record.sha256)
    else contents.set(key, new Set([record.sha256]))
  }
  return new Set(
    intents.flatMap(({ noteId, revision, eventId, envelopeSha256 }) => {
      if (eventId === null) return []
      const key = eventKey({ noteId, revision, eventId })
      const seen = contents.get(key)
      return seen && (envelopeSha256 === null || seen.has(envelopeSha256)) ? [key] : []
    }),
  )
}
