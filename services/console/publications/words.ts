import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import {
  type Answers,
  type ConsumerOutcome,
  type Evidence,
  isFound,
  type Publication,
  type PublicListAnswer,
  type PublicNoteAnswer,
} from './contract.ts'
import { BECAUSE, STATES } from './vocabulary.ts'

type Chain = Omit<Publication, 'answers' | 'explanation'>

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
const seconds = (ms: number): string => `${ms / 1_000} s`

/** What the state means for this publication, in a few sentences. */
export function explainState(chain: Chain): string {
  const parts = [`${chain.noteId}:${chain.revision}: ${STATES[chain.state]}.`]
  if (chain.because) parts.push(sentence(BECAUSE[chain.because]))
  parts.push(...details(chain))
  if (chain.isLate !== null) parts.push(lateness(chain))
  return parts.join(' ')
}

function lateness({ state, isLate }: Chain): string {
  const [step, allowed] =
    state === 'intent-pending'
      ? ['from the commit to the broker', ALLOWED_DELAY_MS.commitToBroker]
      : ['from the broker to the catalog', ALLOWED_DELAY_MS.brokerToCatalog]
  return isLate
    ? `That is late: the allowed delay ${step} is ${seconds(allowed)}.`
    : `That is within the allowed delay ${step}, ${seconds(allowed)}.`
}

function details(chain: Chain): string[] {
  const live = liveOutcome(chain)
  switch (chain.because) {
    case 'quarantined':
    case 'rejected':
      return (
        live?.quarantine
          .slice(0, 1)
          .map((row) => `Quarantine ${row.quarantineId}, ${row.reason}: ${row.explanation}`) ?? []
      )
    case 'read-differs':
      return isFound(chain.public.note) ? [sentence(readerGets(chain.public.note.value))] : []
    case 'read-api-down':
      return isFound(chain.public.note) ? [] : [chain.public.note.explanation]
    default:
      return []
  }
}

const liveOutcome = ({ consumers }: Chain): ConsumerOutcome | undefined =>
  consumers.find(({ consumer, isLive }) => consumer === 'catalog' && isLive)

/** The five questions that have an answer for every publication. */
export function answersOf(chain: Chain): Answers {
  return {
    canonical: canonicalAnswer(chain),
    intent: intentAnswer(chain),
    operation: operationAnswer(chain),
    consumers: chain.consumers.map((outcome) => consumerAnswer(chain, outcome)).join(' '),
    public: publicAnswer(chain),
  }
}

const missing = (what: string, gap: { readonly gap: string; readonly explanation: string }): string =>
  `${what} (${gap.gap}): ${gap.explanation}`

function canonicalAnswer({ noteId, revision, canonical, commit }: Chain): string {
  const { newestRevision, occurredAt } = canonical
  if (!isFound(occurredAt)) return missing('Not known', occurredAt)
  const committed = isFound(commit.at)
    ? `committed ${commit.at.value}`
    : 'committed at a time that is not kept'
  const newest = isFound(newestRevision) ? newestRevision.value : revision
  const place =
    newest === revision
      ? 'It is the newest revision of the note.'
      : `The newest revision of the note is ${newest}.`
  return `At the source, as ${noteId}:${revision}, ${committed}. ${place}`
}

function intentAnswer({ intent, commit }: Chain): string {
  if (!isFound(intent.eventId)) {
    return intent.eventId.gap === 'no-intent'
      ? 'Nowhere: the revision was written without one. Making one is a separate, recorded decision.'
      : missing('Not known', intent.eventId)
  }
  const path = isFound(commit.writePath) ? ` ${commit.writePath.value.explanation}` : ''
  const envelope = isFound(intent.envelope) ? '' : ` ${missing('Its envelope is gone', intent.envelope)}`
  return `In the outbox, as event ${intent.eventId.value}.${path}${envelope}`
}

function operationAnswer({ operation }: Chain): string {
  const { idempotencyKey, principal } = operation
  if (!isFound(idempotencyKey) || !isFound(principal))
    return missing('No key is known', isFound(idempotencyKey) ? NOTHING : idempotencyKey)
  return `Idempotency-Key ${idempotencyKey.value} of ${principal.value}: sent again with the same content, it is answered with the original 202 and changes nothing.`
}
const NOTHING = { gap: 'never-recorded', explanation: 'There is no receipt.' }

function consumerAnswer({ catalog }: Chain, outcome: ConsumerOutcome): string {
  const { consumer, generation, isLive, result, at, explanation } = outcome
  const name =
    consumer === 'audit'
      ? 'audit'
      : `catalog, generation ${generation ?? 'unknown'}${isLive ? ' (live)' : ''}`
  const when = isFound(at) ? ` at ${at.value}` : ''
  const shows =
    consumer === 'catalog' && isLive && isFound(catalog)
      ? catalog.value.revision === null
        ? ' It does not have the note.'
        : ` It has the note at revision ${catalog.value.revision}.`
      : ''
  return `${name}: ${result}${when}. ${explanation}${shows}`
}

function publicAnswer({ public: { note, list } }: Chain): string {
  const single = isFound(note) ? sentence(readerGets(note.value)) : missing('Not known', note)
  return `${single} ${listAnswer(list)}`
}

function readerGets(answer: PublicNoteAnswer): string {
  const cached = cacheWords(answer)
  switch (answer.answer) {
    case 'shown':
      return `a read of the note gets revision ${answer.revision}, ETag ${answer.etag}${cached}`
    case 'withdrawn':
      return `a read of the note gets 410, withdrawn by revision ${answer.revision}${cached}`
    case 'absent':
      return `a read of the note gets 404${cached}`
  }
}

function listAnswer(list: Evidence<PublicListAnswer>): string {
  if (!isFound(list)) return missing('What the list shows is not known', list)
  const { answer, revision } = list.value
  return answer === 'listed'
    ? `The list shows revision ${revision}.`
    : 'The list does not show it at its place.'
}

function cacheWords({ ageSeconds, cacheControl, projectionAsOf }: PublicNoteAnswer): string {
  const age = ageSeconds === null ? '' : `, from a cache that has had it for ${ageSeconds} s`
  const control = cacheControl === null ? '' : `, Cache-Control ${cacheControl}`
  const asOf = projectionAsOf === null ? '' : `, projection as of ${projectionAsOf}`
  return `${asOf}${age}${control}`
}
