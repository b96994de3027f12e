import { isTransientDatabaseError, type Pool } from '../../../core/database.ts'
import { unavailable } from '../../../core/problem.ts'
import { chainOf } from './chain.ts'
import type { Publication } from './contract.ts'
import { type Facts, liveRow, stateFacts } from './facts.ts'
import { readIncidentsSince } from './incidents.ts'
import { type ProjectionFacts, readProjectionFacts } from './projection-facts.ts'
import { askList, askNote } from './public-answers.ts'
import { type PublicationKey, readSourceFacts, type SourceFacts } from './source-facts.ts'
import { type State, stateOf } from './state.ts'

/** What publications are read with: pools that give up soon, so that a part that is away costs little. */
export type PublicationParts = {
  readonly source: Pool
  readonly projection: Pool
  readonly readApiUrl: string
}

/** Both databases are asked side by side; so this, then a reader's wait, is what dead parts can cost. */
export const DATABASE_LIMIT_MS = 1_500

export type ReadOptions = {
  readonly chosen?: Publication['chosen']
  readonly traceparent?: string
}

/**
 * The causal chain of one publication, as of now. A part that does not answer is a named gap in it.
 * @returns undefined when every part that could know answered, and none knows of the publication
 * @throws Problem `unavailable` when neither database answered
 */
export async function readPublication(
  parts: PublicationParts,
  key: PublicationKey,
  options: ReadOptions = {},
): Promise<Publication | undefined> {
  const first = await readOnce(parts, key, options)
  // The parts are read one after another, so a publication on its way can look like a contradiction. Once more.
  const isContradiction = first?.state.because === 'read-differs' || first?.state.because === 'not-canonical'
  const settled = isContradiction ? await readOnce(parts, key, options) : first
  return settled && chainOf(settled.heard, settled.state)
}

async function readOnce(
  parts: PublicationParts,
  key: PublicationKey,
  { chosen = 'asked', traceparent }: ReadOptions,
): Promise<{ readonly heard: Parameters<typeof chainOf>[0]; readonly state: State } | undefined> {
  const [source, projection] = await Promise.all([
    answerOf(readSourceFacts(parts.source, [key])),
    answerOf(readProjectionFacts(parts.projection, [key])),
  ])
  if (!source && !projection) throw unavailable('Neither database answers.')
  const [ofSource, ofProjection] = [source?.[0], projection?.[0]]
  if (ofSource && ofProjection && isUnknownTo(key, ofSource, ofProjection)) return undefined
  const since = committedAt(ofSource, ofProjection)
  const [reader, list, incidents] = await Promise.all([
    askNote(parts.readApiUrl, key.noteId, traceparent),
    askList(parts.readApiUrl, placeOf(key, ofSource, ofProjection), traceparent),
    since && ofProjection ? answerOf(readIncidentsSince(parts.projection, since)) : undefined,
  ])
  const facts: Facts = { ...key, source: ofSource, projection: ofProjection, reader }
  return {
    state: stateOf(stateFacts(facts)),
    heard: {
      ...facts,
      chosen,
      readAt: new Date(),
      reader,
      list,
      incidents,
    },
  }
}

/**
 * What a part answered; undefined when it is away or too slow.
 * @throws whatever else goes wrong: that is a defect, not an absence
 */
export async function answerOf<T>(reading: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), DATABASE_LIMIT_MS)
  })
  try {
    return await Promise.race([reading, limit])
  } catch (error) {
    if (isTransientDatabaseError(error)) return undefined
    throw error
  } finally {
    clearTimeout(timer)
    // Given up on: what becomes of it is nobody's business any more.
    reading.catch(() => {})
  }
}

function isUnknownTo(key: PublicationKey, source: SourceFacts, projection: ProjectionFacts): boolean {
  const isCanonical = source.revision !== undefined || source.intent !== undefined
  const isSeen =
    projection.inbox.length + projection.recordCounts.length + projection.quarantine.length > 0 ||
    (liveRow(projection)?.revision ?? 0) >= key.revision
  return !isCanonical && !isSeen
}

function committedAt(
  source: SourceFacts | undefined,
  projection: ProjectionFacts | undefined,
): Date | undefined {
  if (source?.committedAt) return source.committedAt
  const committed = projection?.records.find((record) => record.committedAt !== null)?.committedAt
  return committed ? new Date(committed) : undefined
}

/** Where the note is in the public list: at what readers see of it, else at what they will see. */
function placeOf(
  { noteId }: PublicationKey,
  source: SourceFacts | undefined,
  projection: ProjectionFacts | undefined,
) {
  const live = liveRow(projection)
  if (live) return { noteId, revisedAtMicros: live.revisedAtMicros }
  const occurredAt = source?.revision?.occurredAt
  return occurredAt && { noteId, revisedAtMicros: String(BigInt(occurredAt.getTime()) * 1_000n) }
}
