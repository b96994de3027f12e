import type { Evidence, PublicationChain } from './http/publication.ts'
import { columns, counted, printable, valueText } from './output.ts'

const MAX_RECORDS = 10

/** A publication's state, its causal chain and the five answers, for a person. */
export function whereLines(chain: PublicationChain): string[] {
  const { noteId, revision, state, because, owner, isLate } = chain
  const late = isLate ? ', late' : ''
  return [
    printable(`${noteId}:${revision}  ${state}${because === null ? '' : ` (${because})`}${late}`),
    printable(chain.explanation),
    `Next step: ${owner}`,
    '',
    ...columns(chainRows(chain).map((row) => row.map(printable))),
    '',
    'Where is the canonical revision?',
    printable(`  ${chain.answers.canonical}`),
    'Where is the intent?',
    printable(`  ${chain.answers.intent}`),
    'Which key repeats the operation?',
    printable(`  ${chain.answers.operation}`),
    'Which revision did each consumer confirm?',
    printable(`  ${chain.answers.consumers}`),
    'What will a public read show meanwhile?',
    printable(`  ${chain.answers.public}`),
  ]
}

type Row = [name: string, from: string, what: string]

function chainRows(chain: PublicationChain): Row[] {
  const { canonical, operation, intent, commit, relay } = chain
  return [
    field('operation', operation.idempotencyKey, (key) => `Idempotency-Key ${key}`),
    field('principal', operation.principal),
    field('answered', operation.answeredAt),
    field('answer', operation.answer, valueText),
    field('revision', canonical.occurredAt, (at) => `saved by the editor at ${at}`),
    field('digest', canonical.contentDigest),
    field('visibility', canonical.visibility),
    field('newest', canonical.newestRevision, (newest) => `the note's newest revision is ${newest}`),
    field('intent', intent.key),
    field('event', intent.eventId),
    field('type', intent.eventType),
    field('envelope', intent.envelope, ({ bytes, sha256 }) => `${counted(bytes, 'byte')}, SHA-256 ${sha256}`),
    field('trace', intent.traceparent),
    field('committed', commit.at),
    field('WAL position', commit.walPosition),
    field('write path', commit.writePath, ({ explanation }) => explanation),
    field('relay', relay.evidence, ({ explanation }) => explanation),
    field('slot', relay.slot, slotText),
    ...rows('incident', relay.incidents, (incidents) => incidents.map(incidentText), 'none since the commit'),
    ...rows('record', chain.records, recordTexts, 'none was seen'),
    ...chain.consumers.map((outcome): Row => {
      const name = `${outcome.consumer}${outcome.consumer === 'catalog' ? ` ${outcome.generation ?? '?'}` : ''}`
      const [, from, at] = field('', outcome.at)
      const when = 'value' in outcome.at ? ` at ${at}` : ''
      const repeats = outcome.repeats ? `, ${counted(outcome.repeats, 'repeat')} without effect` : ''
      return [name, from, `${outcome.result}${when}${repeats}. ${outcome.explanation}`]
    }),
    field('catalog', chain.catalog, ({ generation, revision, appliedAt }) =>
      revision === null
        ? `generation ${generation} does not have the note`
        : `generation ${generation} is at revision ${revision}, since ${appliedAt}`,
    ),
    field('public note', chain.public.note, answerText),
    field('public list', chain.public.list, answerText),
  ]
}

function field<T>(name: string, evidence: Evidence<T>, text: (value: T) => string = String): Row {
  return 'value' in evidence
    ? [name, `${evidence.source} ${evidence.readAt}`, text(evidence.value)]
    : [name, `gap: ${evidence.gap}`, evidence.explanation]
}

/** One row for each of several things; one that says so when there are none. */
function rows<T>(name: string, evidence: Evidence<T>, texts: (value: T) => string[], none: string): Row[] {
  if (!('value' in evidence)) return [field(name, evidence)]
  const found = texts(evidence.value)
  return (found.length === 0 ? [none] : found).map((text) => field(name, { ...evidence, value: text }))
}

type ValueOf<E> = E extends { readonly value: infer T } ? T : never

const slotText = ({
  incarnationAtCommit,
  currentIncarnation,
  confirmedLsn,
}: ValueOf<PublicationChain['relay']['slot']>) =>
  `incarnation ${incarnationAtCommit ?? 'none'} at the commit, ${currentIncarnation ?? 'none'} now; confirmed ${confirmedLsn ?? 'nothing'}`

function incidentText(incident: ValueOf<PublicationChain['relay']['incidents']>[number]): string {
  const until = incident.closedAt === null ? 'and still is' : `until ${incident.closedAt}`
  const restarts = incident.restarts === 0 ? '' : `, ${counted(incident.restarts, 'restart')}`
  const delayed = incident.duringRelay === true ? '; before the first record' : ''
  return `${incident.alarm} since ${incident.openedAt} ${until}${restarts}${delayed}: ${incident.lastText}`
}

function recordTexts({ count, others, shown }: ValueOf<PublicationChain['records']>): string[] {
  const texts = shown
    .slice(0, MAX_RECORDS)
    .map(
      ({ topic, partition, offset, brokerTime, delivery }) =>
        `${topic}-${partition} offset ${offset}, ${delivery}, broker time ${brokerTime}`,
    )
  if (count > texts.length) texts.push(`and ${count - texts.length} more`)
  if (others > 0)
    texts.push(`${counted(others, 'record')} more that name the revision and are not of this event`)
  return texts
}

function answerText(answer: ValueOf<PublicationChain['public']['note']>): string {
  const { status, answer: word, revision, etag, ageSeconds, cacheControl, projectionAsOf } = answer
  return [
    `${status} ${word}${revision === null ? '' : ` revision ${revision}`}`,
    etag === null ? undefined : `ETag ${etag}`,
    `Age ${ageSeconds ?? '-'}`,
    `Cache-Control ${cacheControl ?? '-'}`,
    `Projection-As-Of ${projectionAsOf ?? '-'}`,
  ]
    .filter((part) => part !== undefined)
    .join(', ')
}
