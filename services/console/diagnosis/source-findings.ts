import { type Evidence, isFound, type Publication } from '../publications/contract.ts'
import { catalogFacts, commitFacts, factOf, keyOf, recordFacts, valueIn } from './chain-facts.ts'
import type { Finding } from './contract.ts'
import { RUNBOOK } from './symptoms.ts'

/** The role that only the write API logs in with. */
const WRITE_API_ROLE = 'notes_write_api'

/** A canonical revision that nothing will ever publish. Pure. */
export function noteOnlyFindings(chain: Publication): readonly Finding[] {
  // What was erased can get no intent any more, and that is said.
  if (chain.state !== 'note-only' || isErased(chain)) return []
  const key = keyOf(chain)
  const writer = valueIn(chain.commit.writePath)?.revision
  const wasApi = writer?.sessionUser === WRITE_API_ROLE
  return [
    {
      symptom: 'note-without-intent',
      cause: wasApi ? 'intent-missing' : 'write-path-bypassed',
      severity: 'warning',
      subject: key,
      summary: `${key} exists at the source and has no publication intent: nothing will ever publish it.`,
      facts: [
        ...commitFacts(chain),
        ...factOf(
          chain.canonical.newestRevision,
          (newest) => `The newest revision of the note is ${newest}.`,
        ),
        ...catalogFacts(chain),
      ],
      assumptions: [
        wasApi
          ? "The write API writes both in one commit, so somebody removed the intent, or wrote under the API's role."
          : writer
            ? `${writer.applicationName || writer.sessionUser} wrote past the write API: the write API is ${WRITE_API_ROLE}, and writes both in one commit.`
            : 'Something wrote past the write API.',
      ],
      check: 'The canonical revision, its outbox row, its commit, and who wrote it (provenance of the row).',
      owner: 'write-path',
      next: [
        {
          run: `bin/notesctl where ${key}`,
          why: 'The whole chain. A replay is refused: there is nothing stored that could be sent.',
        },
        {
          run: `bin/notesctl intent create ${key}`,
          why: 'Shows exactly what would be published, and changes nothing.',
        },
        {
          run: `bin/notesctl intent create ${key} --reason TEXT`,
          why: 'If a person decides that it is to be published: a recorded decision, never made automatically.',
        },
      ],
      runbook: RUNBOOK['note-without-intent'],
    },
  ]
}

/** Something of the revision was seen, and the source does not have it. Pure. */
export function notCanonicalFindings(chain: Publication): readonly Finding[] {
  if (chain.because !== 'not-canonical') return []
  const key = keyOf(chain)
  return [
    {
      symptom: 'not-canonical',
      cause: 'not-canonical',
      severity: 'critical',
      subject: key,
      summary: `The projection has something of ${key}, and the source has no such revision.`,
      facts: [...recordFacts(chain), ...catalogFacts(chain)],
      assumptions: ['The source was restored to an older state, or somebody else writes into the topic.'],
      check: 'The canonical revision against what the consumers have under its name.',
      owner: 'operator',
      next: [{ run: `bin/notesctl verify --note ${chain.noteId}`, why: 'Lists how the note differs.' }],
      runbook: RUNBOOK['not-canonical'],
    },
  ]
}

/** What was there once and is gone on purpose: no fault, but why something cannot be shown or replayed. Pure. */
export function goneFindings(chain: Publication): readonly Finding[] {
  const { envelope } = chain.intent
  const content = chain.canonical.contentDigest
  if (isErased(chain)) return [gone(chain, 'erased', textOf(content, 'erased') ?? textOf(envelope, 'erased'))]
  const pruned = textOf(envelope, 'pruned')
  return pruned === undefined ? [] : [gone(chain, 'pruned', pruned)]
}

/** By the source or any consumer. */
export const isErased = ({
  canonical: { contentDigest },
  intent: { envelope },
  consumers,
}: Publication): boolean =>
  (!isFound(contentDigest) && contentDigest.gap === 'erased') ||
  (!isFound(envelope) && envelope.gap === 'erased') ||
  consumers.some(({ result }) => result === 'erased')

const textOf = (evidence: Evidence<unknown>, gap: string): string | undefined =>
  !isFound(evidence) && evidence.gap === gap ? evidence.explanation : undefined

function gone(chain: Publication, symptom: 'pruned' | 'erased', explanation: string | undefined): Finding {
  const key = keyOf(chain)
  const said = explanation ?? 'The projection keeps only its event id.'
  return {
    symptom,
    cause: symptom,
    severity: 'note',
    subject: key,
    summary:
      symptom === 'erased'
        ? `${key} was erased. ${said} No replay or rebuild brings its content back.`
        : `The envelope of ${key} is gone. ${said} It cannot be replayed; what it did stays.`,
    facts: [{ text: said, source: explanation ? 'source' : 'projection', readAt: chain.readAt }],
    assumptions: [],
    check: 'The outbox row and the canonical revision: what is not there any more, and why.',
    owner: 'nobody',
    next:
      symptom === 'erased'
        ? [{ run: 'bin/notesctl actions', why: 'Who erased it, and why.' }]
        : [
            {
              run: 'bin/notesctl retention plan',
              why: 'What the retention contract removes, and what it keeps.',
            },
          ],
    runbook: RUNBOOK[symptom],
  }
}
