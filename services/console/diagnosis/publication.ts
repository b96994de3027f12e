import { Problem } from '../../../core/problem.ts'
import type { ConsoleParts } from '../parts.ts'
import { isFound, type Publication } from '../publications/contract.ts'
import { newestRevision } from '../publications/newest.ts'
import { readPublication } from '../publications/read.ts'
import type { Finding, PublicationDiagnosis } from './contract.ts'
import type { Part } from './part.ts'
import { addressOf, type Gathered, gather } from './pipeline.ts'
import { pipelineFindings } from './pipeline-findings.ts'
import { askPastCaches, type RevisionReading, readRevision } from './read-revision.ts'
import { readersDiffer } from './reader-findings.ts'
import { gapsOf, revisionFindings } from './revision-findings.ts'
import { verdictOf } from './verdict.ts'

/**
 * One publication: its chain, what else claims it, and the parts that could hold it up, read at the same time.
 * @param revision undefined: the newest of the note
 * @returns undefined when every part that could know answered, and none knows of it
 */
export async function diagnosePublication(
  parts: ConsoleParts,
  noteId: string,
  revision?: number,
): Promise<PublicationDiagnosis | undefined> {
  const [chain, gathered] = await Promise.all([readChain(parts, noteId, revision), gather(parts)])
  if (chain === 'unknown-to-all') return undefined
  if (chain === 'nobody-answers') return withoutChain(gathered, parts, noteId, revision)
  // A database that did not answer the chain is not waited for once more.
  const claims: Part<RevisionReading> = isFound(chain.catalog)
    ? await readRevision(parts, chain.noteId, chain.revision)
    : { status: 'unknown', reason: `projection database: ${chain.catalog.explanation}` }
  const pastCaches = readersDiffer(chain, claims) ? await askPastCaches(parts, noteId) : undefined
  const findings = revisionFindings(
    { chain, claims, pastCaches, pipeline: gathered.readings },
    addressOf(parts),
  )
  const gaps = [...gapsOf(chain)]
  const unknown = gathered.unknown.filter(({ part }) => isNeeded(part, chain, gaps))
  return {
    verdict: verdictOf(findings, unknown, chain.explanation),
    askedAt: new Date().toISOString(),
    noteId: chain.noteId,
    revision: chain.revision,
    findings: [...findings],
    unknown,
    gaps,
    publication: chain,
  }
}

type Chain = Publication | 'unknown-to-all' | 'nobody-answers'

async function readChain(
  { publications }: ConsoleParts,
  noteId: string,
  revision: number | undefined,
): Promise<Chain> {
  try {
    const newest = revision === undefined ? await newestRevision(publications, noteId) : undefined
    const wanted = revision ?? newest?.revision
    if (wanted === undefined) return 'unknown-to-all'
    const options = newest ? { chosen: newest.chosen } : {}
    return (await readPublication(publications, { noteId, revision: wanted }, options)) ?? 'unknown-to-all'
  } catch (error) {
    if (error instanceof Problem && error.code === 'unavailable') return 'nobody-answers'
    throw error
  }
}

/** Which servers a state rests on; Kafka and Connect only say why something waits. */
const GAP_OF_PART: Readonly<Record<string, string>> = {
  'source database': 'source-down',
  'projection database': 'projection-down',
  'public read API': 'read-api-down',
}

function isNeeded(part: string, { state }: Publication, gaps: PublicationDiagnosis['gaps']): boolean {
  const gap = GAP_OF_PART[part]
  if (gap !== undefined) return gaps.some((each) => each.gap === gap)
  return state === 'intent-pending' || state === 'intent-relayed' || state === 'unknown'
}

/** Nothing is known of the publication itself: which servers are away is the diagnosis. */
function withoutChain(
  { readings, unknown }: Gathered,
  parts: ConsoleParts,
  noteId: string,
  revision: number | undefined,
): PublicationDiagnosis {
  const findings: readonly Finding[] = pipelineFindings(readings, addressOf(parts)).filter(
    ({ symptom }) => symptom === 'part-away',
  )
  return {
    verdict: verdictOf(findings, unknown.length > 0 ? unknown : [{ part: 'both databases' }], ''),
    askedAt: new Date().toISOString(),
    noteId,
    revision: revision ?? null,
    findings: [...findings],
    unknown,
    gaps: [],
    publication: null,
  }
}
