import { isFound, type Publication } from '../publications/contract.ts'
import { factOf, keyOf, valueIn } from './chain-facts.ts'
import type { Fact, Finding } from './contract.ts'
import type { Part } from './part.ts'
import type { CatalogRow, PublicNote, RevisionReading } from './read-revision.ts'
import { RUNBOOK } from './symptoms.ts'

export type ReaderReadings = {
  readonly chain: Publication
  readonly claims: Part<RevisionReading>
  readonly pastCaches: Part<PublicNote> | undefined
}

type Answer = Pick<PublicNote, 'answer' | 'revision' | 'etag'>

/** Is that answer what the row says? A withdrawn note is answered without an ETag. Pure. */
export function isAnswerOf(row: CatalogRow | undefined, answer: Answer): boolean {
  if (!row) return answer.answer === 'absent'
  if (row.visibility === 'withdrawn') return answer.answer === 'withdrawn' && answer.revision === row.revision
  return answer.answer === 'shown' && answer.revision === row.revision && answer.etag === row.etag
}

/** Does the first answer differ from what the catalog has, so that it is worth asking past caches? Pure. */
export function readersDiffer(chain: Publication, claims: Part<RevisionReading>): boolean {
  const answer = valueIn(chain.public.note)
  if (!answer || claims.status === 'unknown') return false
  return !isAnswerOf(claims.value.rows[0], answer)
}

/** The public read answers with something else than the live catalog has. Pure. */
export function readerFindings(readings: ReaderReadings): readonly Finding[] {
  const { chain, claims } = readings
  if (claims.status === 'unknown') return []
  const [row] = claims.value.rows
  if (readersDiffer(chain, claims)) return [differing(readings, row, claims.readAt)]
  return [...listFindings(chain, row, claims.readAt), ...withdrawnNote(chain, row, claims.readAt)]
}

function differing(
  { chain, pastCaches }: ReaderReadings,
  row: CatalogRow | undefined,
  readAt: string,
): Finding {
  const key = keyOf(chain)
  const answer = valueIn(chain.public.note)
  const past = pastCaches?.status === 'read' ? pastCaches.value : undefined
  const pastIsRight = past !== undefined && isAnswerOf(row, past)
  const hasAge = answer?.ageSeconds !== null && answer?.ageSeconds !== undefined
  const isCache = pastIsRight || (hasAge && past === undefined)
  const gets = answer?.revision === null || !answer ? 'no revision' : `revision ${answer.revision}`
  const has = row ? `revision ${row.revision}` : 'no such note'
  return {
    symptom: 'stale-public-read',
    cause: isCache ? 'cache' : 'read-scope',
    severity: 'warning',
    subject: key,
    summary: isCache
      ? `Readers get ${gets} of ${chain.noteId} from a cache, the live catalog has ${has}.`
      : `The read API itself answers with ${gets} of ${chain.noteId}, the live catalog has ${has}: it reads something else.`,
    facts: [
      ...factOf(chain.canonical.newestRevision, (newest) => `Source: the newest revision is ${newest}.`),
      { text: rowText(row), source: 'projection', readAt },
      ...publicFacts(chain),
      ...pastFacts(pastCaches),
    ],
    assumptions: pastIsRight
      ? []
      : isCache
        ? ['The header Age is set by caches only, and asking past the cache was not possible.']
        : [
            'No cache is in between: the answer is the same when caches are told to ask. The read API has another database, another generation, or was never told of the switch.',
          ],
    check:
      'Source, live catalog and public answer of the note: revision, ETag, Age; then the same past caches.',
    owner: 'read-side',
    next: isCache
      ? [
          {
            run: `curl -sI -H 'Cache-Control: no-cache' ${quoted(answer?.url)}`,
            why: 'What readers would get without the cache. Purge it there, or have it honour Cache-Control.',
          },
          {
            run: `bin/notesctl diagnose ${key}`,
            why: 'Afterwards. Until then readers see it late: say so, and promise no moment.',
          },
        ]
      : [
          { run: 'curl -s "$READ_API_URL/readyz"', why: 'Whether it reaches its database.' },
          {
            run: `bin/notesctl verify --note ${chain.noteId}`,
            why: 'Whether the live catalog itself is right; then compare PROJECTION_DATABASE_URL of the read API.',
          },
        ],
    runbook: RUNBOOK['stale-public-read'],
  }
}

const rowText = (row: CatalogRow | undefined): string =>
  row
    ? `Live catalog: revision ${row.revision}, ${row.visibility}, ETag ${row.etag}, applied ${row.appliedAt}.`
    : 'Live catalog: it does not have the note.'

const quoted = (url: string | undefined): string => `'${url ?? '$READ_API_URL/notes/NOTE'}'`

const publicFacts = ({ public: { note } }: Publication): readonly Fact[] =>
  factOf(note, ({ status, revision, etag, ageSeconds, cacheControl, projectionAsOf, headers }) => {
    const others = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    return `Readers get: HTTP ${status}, revision ${revision ?? 'none'}, ETag ${etag ?? 'none'}, Age ${ageSeconds ?? 'none'}, Cache-Control ${cacheControl ?? 'none'}, Projection-As-Of ${projectionAsOf ?? 'none'}${others.length > 0 ? `; ${others.join('; ')}` : ''}.`
  })

function pastFacts(pastCaches: Part<PublicNote> | undefined): readonly Fact[] {
  if (pastCaches?.status !== 'read') return []
  const { status, revision, etag, ageSeconds } = pastCaches.value
  return [
    {
      text: `The same address with Cache-Control: no-cache: HTTP ${status}, revision ${revision ?? 'none'}, ETag ${etag ?? 'none'}, Age ${ageSeconds ?? 'none'}.`,
      source: 'read-api',
      readAt: pastCaches.readAt,
    },
  ]
}

/** The single note is right, and the list shows something else at its place. */
function listFindings(chain: Publication, row: CatalogRow | undefined, readAt: string): readonly Finding[] {
  const { list } = chain.public
  if (!isFound(list) || !row || row.visibility === 'withdrawn') return []
  const { answer, itemEtag, ageSeconds, revision, url } = list.value
  if (answer === 'listed' && itemEtag === row.etag) return []
  const isCache = ageSeconds !== null && ageSeconds > 0
  // Between two readings a new revision moves the note to another place of the list.
  if (answer === 'absent' && !isCache && chain.state !== 'projection-current') return []
  return [
    {
      symptom: 'stale-public-read',
      cause: isCache ? 'cache' : 'list-differs',
      severity: 'warning',
      subject: keyOf(chain),
      summary: `The single note is right, the public list ${answer === 'listed' ? `shows revision ${revision}` : 'does not show it at its place'}${isCache ? ', from a cache' : ''}.`,
      facts: [
        { text: rowText(row), source: 'projection', readAt },
        ...factOf(
          list,
          () =>
            `The list at ${url}: ${answer}, item ETag ${itemEtag ?? 'none'}, Age ${ageSeconds ?? 'none'}.`,
        ),
      ],
      assumptions: isCache
        ? []
        : ['The note was saved again between the two readings, or the list is filtered.'],
      check: "The list at the note's place (its time and id) against the live catalog.",
      owner: 'read-side',
      next: [
        { run: `curl -s -H 'Cache-Control: no-cache' ${quoted(url)}`, why: 'The same page past caches.' },
      ],
      runbook: RUNBOOK['stale-public-read'],
    },
  ]
}

/** Not a fault: readers are told that it was withdrawn, and the list leaves it out. */
function withdrawnNote(chain: Publication, row: CatalogRow | undefined, readAt: string): readonly Finding[] {
  if (row?.visibility !== 'withdrawn') return []
  return [
    {
      symptom: 'stale-public-read',
      cause: 'withdrawn',
      severity: 'note',
      subject: keyOf(chain),
      summary: `${chain.noteId} is withdrawn by revision ${row.revision}: readers get 410, and the list leaves it out. That is right.`,
      facts: [{ text: rowText(row), source: 'projection', readAt }, ...publicFacts(chain)],
      assumptions: [],
      check: 'Visibility of the live catalog against the public answer.',
      owner: 'nobody',
      next: [],
      runbook: RUNBOOK['stale-public-read'],
    },
  ]
}
