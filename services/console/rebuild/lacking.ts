/** The newest intent of a note; `sha256` of its envelope in hex, null when that was pruned. */
export type NewestIntent = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  readonly sha256: string | null
}

/** A record that names an intent. */
export type CoveredIntent = Omit<NewestIntent, 'sha256'> & {
  /** Of its value; null when it had none. */
  readonly sha256: string | null
  /** Does one like it lie at or after the start of its partition, in the topic's present life? */
  readonly reached: boolean
}

/**
 * The intents that no record from the start on brings, and whether a record of each was ever seen. Pure. Whoever may
 * write to the topic can name any event in a header: a record counts only with the bytes of the intent, unless those
 * were pruned.
 */
export function lackingOf(
  newest: readonly NewestIntent[],
  records: readonly CoveredIntent[],
): (NewestIntent & { readonly seenBefore: boolean })[] {
  const ofEvent = Map.groupBy(records, ({ eventId }) => eventId)
  return newest.flatMap((intent) => {
    const own = (ofEvent.get(intent.eventId) ?? []).filter(
      ({ noteId, revision, sha256 }) =>
        noteId === intent.noteId &&
        revision === intent.revision &&
        (intent.sha256 === null || intent.sha256 === sha256),
    )
    return own.some(({ reached }) => reached) ? [] : [{ ...intent, seenBefore: own.length > 0 }]
  })
}
