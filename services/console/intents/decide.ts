import { NoteContent } from '../../../core/note.ts'
import type { Effect, IntentPreview, IntentRefusal } from './contract.ts'

export type IntentFacts = {
  readonly content: IntentPreview['content']
  readonly hasIntent: boolean
  readonly isErased: boolean
  readonly schemaId: number | undefined
  readonly eventId: string
  /** Event ids that a consumer knows for this note and revision. */
  readonly knownEvents: readonly string[]
  readonly revision: number
  readonly visibleRevision: number | null
}

/** Why no intent is made; undefined: it may be. Pure. */
export function refusalOf(facts: IntentFacts): IntentRefusal | undefined {
  if (facts.isErased) return 'erased'
  if (facts.hasIntent) return 'exists'
  if (facts.knownEvents.some((known) => known !== facts.eventId)) return 'other-event'
  if (!NoteContent.safeParse(facts.content).success) return 'invalid-content'
  return facts.schemaId === undefined ? 'no-schema' : undefined
}

/** What becomes of readers once the event is applied. Pure. */
export function effectOf({ content, revision, visibleRevision }: IntentFacts): Effect {
  if (visibleRevision !== null && visibleRevision >= revision) return 'stale'
  return content.visibility === 'withdrawn' ? 'withdrawn' : 'shown'
}
