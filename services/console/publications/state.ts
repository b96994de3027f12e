import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { NoEvidence } from '../../../core/relay/evidence.ts'
import type { Because, Owner, PublicationState } from './vocabulary.ts'

/** What a part said, or that it did not answer. */
export type Heard<T> = { readonly heard: true; readonly value: T } | { readonly heard: false }
export const SILENT = { heard: false } as const
export const heard = <T>(value: T): Heard<T> => ({ heard: true, value })

export type SourceSays = {
  /** The canonical revision exists. */
  readonly hasRevision: boolean
  readonly intent:
    | {
        /** The relay's own evidence, or why there is none. */
        readonly relay: 'confirmed' | NoEvidence
        /** Since the commit, by the source's clock; null: the commit's time is not known. */
        readonly ageMs: number | null
      }
    | undefined
}

/**
 * What the projection has of the intent's event. While the source is silent: of whatever event it has under the
 * note and revision.
 */
export type ProjectionSays = {
  /** The live catalog's row of the note; undefined: it has none. */
  readonly live: { readonly revision: number; readonly isThisEvent: boolean } | undefined
  /** Its event id is in the inbox of the live catalog. */
  readonly isApplied: boolean
  /** In quarantine of the live catalog. */
  readonly quarantine: 'unresolved' | 'discarded' | undefined
  /** A row of any consumer for the event. */
  readonly isSeen: boolean
  /** Something under the revision contradicts something else there: which of them is canonical only the source says. */
  readonly isContested: boolean
  /** Where the live catalog stands to the event's records. */
  readonly course: CatalogCourse
}

export type CatalogCourse = {
  /** Since the oldest record came to the broker; null: no record was seen. */
  readonly waitedMs: number | null
  /** `progress` is past every record that was seen. */
  readonly isPast: boolean
  /** The consumer stands before the record: its partition is stopped, or it has applied nothing for too long. */
  readonly isDown: boolean
}

export type ReaderSees =
  | { readonly answer: 'shown' | 'withdrawn'; readonly revision: number; readonly isSameContent: boolean }
  | { readonly answer: 'absent' }

export type StateFacts = {
  readonly revision: number
  readonly source: Heard<SourceSays>
  readonly projection: Heard<ProjectionSays>
  readonly reader: Heard<ReaderSees>
}

export type State = {
  readonly state: PublicationState
  readonly because: Because | null
  readonly owner: Owner
  /** The allowed delay of the open step is over; null: no step is open, or its age is not known. */
  readonly isLate: boolean | null
}

/**
 * In which state a publication is, from what the parts say. A state is named only on its evidence. A part that is
 * silent makes the answer `unknown` or leaves it as it would be; it never makes it another one.
 */
export function stateOf(facts: StateFacts): State {
  const { source, projection } = facts
  if (source.heard && source.value.hasRevision && !source.value.intent)
    return { state: 'note-only', because: null, owner: 'write-path', isLate: null }
  if (source.heard && !source.value.hasRevision) return unknown('not-canonical')
  // What the relay says alone is not enough: it may have been applied, and overtaken, since.
  if (!projection.heard) return unknown(source.heard ? 'projection-down' : 'source-down')
  const { live } = projection.value
  if (live?.revision === facts.revision && live.isThisEvent) {
    if (!source.heard && projection.value.isContested) return unknown('source-down')
    return shown(facts)
  }
  if (live && live.revision > facts.revision) return overtaken(source, projection.value)
  return onItsWay(source, projection.value)
}

function shown({ revision, reader }: StateFacts): State {
  if (!reader.heard) return unknown('read-api-down', 'read-side')
  const sees = reader.value
  const isCurrent = sees.answer !== 'absent' && sees.revision === revision && sees.isSameContent
  return isCurrent
    ? { state: 'projection-current', because: null, owner: 'nobody', isLate: null }
    : unknown('read-differs', 'read-side')
}

function overtaken(source: Heard<SourceSays>, projection: ProjectionSays): State {
  const superseded = (because: Because, owner: Owner): State => ({
    state: 'superseded',
    because,
    owner,
    isLate: null,
  })
  if (projection.isApplied) return superseded('applied', 'nobody')
  if (projection.quarantine === 'unresolved') return superseded('quarantined', 'operator')
  if (projection.quarantine === 'discarded') return superseded('rejected', 'nobody')
  // Without the source nobody knows whether there was an intent at all.
  if (!source.heard) return unknown('source-down')
  return projection.isSeen ? superseded('not-applied', 'projector') : superseded('never-seen', 'relay')
}

function onItsWay(source: Heard<SourceSays>, projection: ProjectionSays): State {
  const intent = source.heard ? source.value.intent : undefined
  if (projection.isSeen || intent?.relay === 'confirmed') return relayed(intent?.ageMs ?? null, projection)
  if (!intent) return unknown('source-down')
  return {
    state: 'intent-pending',
    because: PENDING[intent.relay],
    owner: 'relay',
    isLate: intent.ageMs === null ? null : intent.ageMs > ALLOWED_DELAY_MS.commitToBroker,
  }
}

const PENDING: Readonly<Record<NoEvidence, Because>> = {
  skipped: 'skipped',
  'no-slot-at-commit': 'no-slot-at-commit',
  'other-incarnation': 'other-incarnation',
  'slot-missing': 'slot-missing',
  'slot-foreign': 'slot-foreign',
  'slot-lost': 'slot-lost',
  'slot-inactive': 'slot-inactive',
  'not-observed': 'relay-behind',
}

function relayed(ageMs: number | null, { quarantine, course }: ProjectionSays): State {
  const state = (because: Because, owner: Owner): State => ({
    state: 'intent-relayed',
    because,
    owner,
    isLate: isApplyLate(ageMs, course),
  })
  if (quarantine === 'unresolved') return state('quarantined', 'operator')
  if (quarantine === 'discarded') return { ...state('rejected', 'nobody'), isLate: null }
  if (course.isPast) return state('not-applied', 'projector')
  return course.isDown ? state('consumer-down', 'projector') : state('lag', 'projector')
}

/** From the broker on when it is known when that was, else from the commit on over both steps. */
function isApplyLate(ageMs: number | null, { waitedMs }: CatalogCourse): boolean | null {
  if (waitedMs !== null) return waitedMs > ALLOWED_DELAY_MS.brokerToCatalog
  return ageMs === null ? null : ageMs > ALLOWED_DELAY_MS.commitToBroker + ALLOWED_DELAY_MS.brokerToCatalog
}

const unknown = (because: Because, owner: Owner = 'operator'): State => ({
  state: 'unknown',
  because,
  owner,
  isLate: null,
})
