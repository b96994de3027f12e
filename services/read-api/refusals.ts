import { Problem } from '../../core/problem.ts'
import type { CatalogNote, Quarantined } from './catalog.ts'
import type { NotVisible } from './contract.ts'
import type { Decision } from './decide.ts'
import type { Freshness } from './freshness.ts'
import { RETRY_AFTER_SECONDS } from './limits.ts'
import type { WaitOutcome } from './waiters.ts'

/** 404: the live catalog has no note of that id. */
export const unknownNote = (noteId: string): Problem =>
  new Problem(
    'not-found',
    'The catalog shows no note of that id. If it was just published, ask with ?minRevision=1 and Prefer: wait=10.',
    { extra: { noteId } },
  )

/** 410, whatever If-None-Match says: a reader must not go on with a copy. */
export const withdrawn = (note: CatalogNote): Problem =>
  new Problem('gone', 'The note was withdrawn by its editors. Remove copies of it.', {
    headers: { 'Note-Revision': String(note.revision) },
    extra: { noteId: note.noteId, revision: note.revision, withdrawnAt: note.revisedAt.toISOString() },
  })

type NotVisibleFacts = {
  readonly noteId: string
  readonly minRevision: number
  readonly decision: Extract<Decision, { status: 'not-yet' | 'quarantined' }>
  readonly freshness: Freshness
  readonly lastWait: WaitOutcome['status'] | undefined
  readonly writeApiUrl: string
}

function whyAndWhen({ decision, lastWait }: NotVisibleFacts): { detail: string; retryAfterSeconds: number } {
  if (decision.status === 'quarantined') {
    return {
      detail: whyQuarantined(decision.quarantined),
      retryAfterSeconds: RETRY_AFTER_SECONDS.quarantined,
    }
  }
  if (lastWait === 'full') {
    return {
      detail: 'Too many requests are waiting already, so this one was not. Ask again.',
      retryAfterSeconds: RETRY_AFTER_SECONDS.tooManyWaiters,
    }
  }
  if (lastWait === 'stopping') {
    return {
      detail: 'This server is stopping and ended the wait early. Ask again.',
      retryAfterSeconds: RETRY_AFTER_SECONDS.stopping,
    }
  }
  return {
    detail:
      'The catalog does not have that revision yet. Ask again, or ask with Prefer: wait=S; the publication says where it is.',
    retryAfterSeconds: RETRY_AFTER_SECONDS.notYetVisible,
  }
}

function whyQuarantined({ reason, discarded }: Quarantined): string {
  if (discarded)
    return `The record of that revision could not be applied (${reason}) and was discarded by an operator. That revision will not come.`
  const why =
    reason === 'held'
      ? 'is held behind an earlier revision of the note that cannot be applied'
      : `cannot be applied (${reason})`
  return `The record of that revision ${why} and is kept in quarantine. Waiting does not help; an operator has to look at it.`
}

/** 503 with everything the projection knows about why the wanted revision is not there. */
export function notVisible(facts: NotVisibleFacts): Problem {
  const { noteId, minRevision, decision, freshness, writeApiUrl } = facts
  const { detail, retryAfterSeconds } = whyAndWhen(facts)
  const visibleRevision = decision.visibleRevision ?? null
  const extra: NotVisible = {
    noteId,
    minRevision,
    visibleRevision,
    missingRevisions: { from: (visibleRevision ?? 0) + 1, to: minRevision },
    recordsBehind: freshness.recordsBehind ?? null,
    asOf: freshness.asOfMs === undefined ? null : new Date(freshness.asOfMs).toISOString(),
    publication: `${writeApiUrl}/publications/${noteId}/${minRevision}`,
    ...(decision.status === 'quarantined' && {
      quarantined: {
        reason: decision.quarantined.reason,
        since: decision.quarantined.since.toISOString(),
        discarded: decision.quarantined.discarded,
      },
    }),
  }
  return new Problem('revision-not-visible', detail, {
    headers: {
      'Retry-After': String(retryAfterSeconds),
      ...(visibleRevision !== null && { 'Note-Revision': String(visibleRevision) }),
    },
    extra,
  })
}
