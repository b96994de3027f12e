/** A command that was refused because the note is at another revision. */
export type PublishConflict = {
  readonly id: string
  readonly revision: number
  /** The revision the note is at. */
  readonly current: number
  /** Whether a person named the revision, or it was taken from the canonical note. */
  readonly wasNamed: boolean
  /** Whether the source has the content of the current revision. */
  readonly hasContent: boolean
}

/** What happened, and what to do now. Pure. */
export function conflictText({ id, revision, current, wasNamed, hasContent }: PublishConflict): string {
  const happened = `${id} is at revision ${current}, so revision ${revision} could not be created; nothing was saved.`
  const next = current + 1
  if (!hasContent) {
    return `${happened} The source has no content of revision ${current} (bin/notesctl verify --note ${id}: no-content), so it cannot be compared: publish with --revision ${next}.`
  }
  return wasNamed
    ? `${happened} Look at it (bin/notesctl show ${id}), then publish as revision ${next} or leave --revision out.`
    : `${happened} Somebody else saved it meanwhile. Look at it (bin/notesctl show ${id}), then publish again.`
}
