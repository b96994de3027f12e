import type { EventPoll, PublicationPoll } from '../../history.ts'
import { type FactIndex, revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'false-claim'

/** What GET /events and GET /publications say of a revision is so, at that moment, whatever broke. */
export const claimsOfStates: RuleFactory = ({ facts, findings }) => {
  /** When an event, and a noteId:revision, was first acknowledged. */
  const acknowledged = new Map<string, number>()
  const wasAcknowledged = (id: string, startMs: number) =>
    (acknowledged.get(id) ?? Number.POSITIVE_INFINITY) < startMs
  return {
    see(entry) {
      if (entry.kind === 'command' && entry.answer.outcome === 'accepted') {
        for (const id of [entry.answer.eventId, revisionKey(entry.noteId, entry.revision)]) {
          if (!acknowledged.has(id)) acknowledged.set(id, entry.endMs)
        }
      } else if (entry.kind === 'event') {
        const wrong = falseEvent(facts, entry, wasAcknowledged(entry.eventId, entry.startMs))
        if (wrong) findings.add(KIND, entry.eventId, `GET /events: ${wrong}.`)
      } else if (entry.kind === 'publication') {
        const subject = revisionKey(entry.noteId, entry.revision)
        const wrong = falsePublication(facts, entry, wasAcknowledged(subject, entry.startMs))
        if (wrong) findings.add(KIND, subject, `GET /publications: ${wrong}.`)
      }
    },
  }
}

function falseEvent(facts: FactIndex, entry: EventPoll, acknowledged: boolean): string | undefined {
  if (entry.status === 404) return acknowledged ? '404 after its event was acknowledged' : undefined
  if (!entry.answer) return undefined
  const intent = facts.intent(entry.eventId)
  if (!intent) return 'it knows an event that the outbox does not have'
  const { noteId, revision } = entry.answer
  if (noteId === intent.noteId && revision === intent.revision) return undefined
  return `it says ${revisionKey(noteId, revision)}, the outbox ${revisionKey(intent.noteId, intent.revision)}`
}

function falsePublication(
  facts: FactIndex,
  entry: PublicationPoll,
  acknowledged: boolean,
): string | undefined {
  if (entry.status === 404) return acknowledged ? '404 after it was acknowledged' : undefined
  const { answer, noteId, revision } = entry
  if (!answer) return undefined
  const stored = facts.revision(noteId, revision)
  if (!stored) return 'it knows a revision that the source does not have'
  if (answer.eventId !== stored.eventId) return `it names event ${answer.eventId}, not ${stored.eventId}`
  // Revision and intent are one commit, so there is no moment with one of them alone.
  if (stored.eventId !== null && (answer.state === 'note-only' || answer.accepted !== 'yes')) {
    return `state ${answer.state}, accepted ${answer.accepted}, although it has an intent`
  }
  return falseVisibility(facts, entry, answer) ?? inconsistent(answer)
}

type Answer = NonNullable<PublicationPoll['answer']>

function falseVisibility(
  facts: FactIndex,
  { noteId, revision }: PublicationPoll,
  { visible, shownRevision }: Answer,
): string | undefined {
  if (shownRevision !== null && shownRevision > facts.newest(noteId)) {
    return `readers get revision ${shownRevision}, the source has ${facts.newest(noteId)}`
  }
  const withdraws = facts.revision(noteId, revision)?.visibility === 'withdrawn'
  const shown = shownRevision ?? 0
  switch (visible) {
    case 'yes':
      return shown !== revision || withdraws
        ? `visible, but readers get revision ${shown}${withdraws ? ' and it withdraws the note' : ''}`
        : undefined
    case 'withdrawn':
      return shown !== revision || !withdraws ? 'withdrawn, but its content is public' : undefined
    case 'superseded':
      return shown > revision ? undefined : `superseded by revision ${shown}`
    case 'not-yet':
      return shown < revision ? undefined : `not yet visible, but readers get revision ${shown}`
    case 'unknown':
      return undefined
    default:
      // conflict: no two contents of one revision exist in a run.
      return `visible: ${visible}`
  }
}

/** The one word has to say what its parts say. */
function inconsistent({ state, visible, confirmed }: Answer): string | undefined {
  const expected =
    visible === 'yes'
      ? 'visible'
      : visible === 'withdrawn' || visible === 'superseded'
        ? visible
        : confirmed === 'yes'
          ? 'confirmed'
          : 'accepted'
  return state === expected ? undefined : `state ${state} with visible ${visible}, confirmed ${confirmed}`
}
