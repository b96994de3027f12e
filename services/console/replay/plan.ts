import { ConnectRefused, ConnectUnavailable } from '../../../core/connect-client.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { Problem } from '../../../core/problem.ts'
import { auditHasRead } from '../recovery/missing.ts'
import { MAX_KEYS, type Refused, type RevisionRange, type Selection } from './contract.ts'
import { type NotReady, type Replayable, refusal, relayNotReady, split } from './decide.ts'
import { readRelay } from './relay.ts'
import type { ReplayParts } from './runner.ts'
import { auditGap, readRanges } from './select.ts'

/** What a selection comes to at this moment. */
export type Chosen = {
  readonly replayable: readonly Replayable[]
  readonly refused: readonly Refused[]
  /** Has audit read the topic to its end? null: Kafka does not answer, or nobody asked. */
  readonly auditHasRead: boolean | null
}

/**
 * Finds what is asked for. Of an audit gap only intents count: a gap whose revision has none is no matter of
 * replay, and is found by verify.
 * @throws Problem when it is too much for one replay; a database's error when one is away
 */
export async function choose(parts: ReplayParts, { revisions, fromAuditGap }: Selection): Promise<Chosen> {
  const { source, relay } = parts
  const named = await readRanges(source, revisions, MAX_KEYS)
  const gap = fromAuditGap ? await auditGap({ ...parts, slotName: relay.slotName }) : []
  const missing = (await readRanges(source, gap, MAX_KEYS)).filter(({ eventId }) => eventId !== null)
  const known = new Set(named.map(({ noteId, revision }) => `${noteId}:${revision}`))
  const all = [...named, ...missing.filter(({ noteId, revision }) => !known.has(`${noteId}:${revision}`))]
  if (all.length > MAX_KEYS) {
    throw new Problem(
      'action-refused',
      `That is more than ${MAX_KEYS} revisions; name less, and replay the rest afterwards.`,
      { extra: { why: 'too-many' } },
    )
  }
  const { replayable, refused } = split(all)
  return {
    replayable,
    refused: [...refused, ...unknownRanges(revisions, named)],
    auditHasRead: fromAuditGap ? await auditIsThrough(parts) : null,
  }
}

/** Ranges of which the source has no revision at all. Pure. */
function unknownRanges(
  ranges: readonly RevisionRange[],
  found: readonly { readonly noteId: string; readonly revision: number }[],
): Refused[] {
  return ranges
    .filter(
      ({ noteId, firstRevision, lastRevision = firstRevision }) =>
        !found.some(
          (key) => key.noteId === noteId && key.revision >= firstRevision && key.revision <= lastRevision,
        ),
    )
    .map(({ noteId, firstRevision }) => refusal(noteId, firstRevision, 'no-revision'))
}

async function auditIsThrough({ kafka, verifyProjection }: ReplayParts): Promise<boolean | null> {
  try {
    return await auditHasRead(verifyProjection, kafka.topic, await kafka.facts.state())
  } catch (error) {
    if (error instanceof KafkaUnavailable) return null
    throw error
  }
}

/** What is in the way of a replay now; undefined: nothing. @throws a database's error when the source is away */
export async function whatIsInTheWay({ source, relay }: ReplayParts): Promise<NotReady | undefined> {
  try {
    return relayNotReady(await readRelay(source, relay))
  } catch (error) {
    if (error instanceof ConnectUnavailable)
      return { why: 'connect-away', explanation: 'Kafka Connect does not answer. If it is down: bin/up' }
    if (error instanceof ConnectRefused) return { why: 'connect-refused', explanation: error.message }
    throw error
  }
}
