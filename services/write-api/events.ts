import type { RequestHandler } from 'express'
import { z } from 'zod'
import { formatLsn } from '../../core/lsn.ts'
import { Problem } from '../../core/problem.ts'
import { type EvidenceFacts, judge, type NoEvidence, type Verdict } from '../../core/relay/evidence.ts'
import { valid } from '../../core/validate.ts'
import type { EventStatus, Evidence } from './answers.ts'
import type { FactsReader } from './facts.ts'

export const EventParams = z.object({ eventId: z.uuid('must be a UUID').toLowerCase() })

const EXPLANATIONS: Record<'recorded' | 'record' | NoEvidence, string> = {
  recorded:
    'The watcher recorded that the slot of that incarnation was past this commit, read by the connector without a break or proven record by record.',
  record: 'A consumer saw this record of the event in the topic.',
  skipped: 'The relay is past this commit and no consumer saw a record of it; only a replay can bring it.',
  'no-slot-at-commit': 'No replication slot was on record at the commit, so none can have carried it.',
  'other-incarnation':
    'The slot that was there at the commit is gone; the present one started later. A record will be the evidence.',
  'slot-missing': 'The replication slot does not exist.',
  'slot-foreign': 'The replication slot is not the one on record: it was made anew by someone.',
  'slot-lost': 'The replication slot has lost its write-ahead log.',
  'slot-inactive': 'Nobody is reading from the replication slot: the connector is down or restarting.',
  'not-observed': 'The watcher has not recorded yet that the slot is past this commit.',
}

const COVERS =
  'Confirmed: the broker has acknowledged the record. With one broker replica that does not cover the loss of its disk, and it never says that readers see it.'

/** GET /events/{eventId}: accepted or confirmed, with the evidence. */
export const getEvent =
  (facts: FactsReader): RequestHandler =>
  async (req, res) => {
    const { eventId } = valid(EventParams, req.params)
    const found = await facts.ofEvent(eventId)
    if (!found?.intent) throw new Problem('not-found', 'No event has this id.')
    const verdict = judge(found.intent.evidence)
    const answer: EventStatus = {
      eventId,
      noteId: found.noteId,
      revision: found.revision,
      status: verdict.status,
      committedAt: found.committedAt?.toISOString() ?? null,
      evidence: show(verdict, found.intent.evidence, found.readAt),
    }
    if (verdict.status === 'accepted') res.set('Retry-After', '1')
    res.set('Cache-Control', 'no-store').json(answer)
  }

function show(verdict: Verdict, facts: EvidenceFacts, readAt: Date): Evidence {
  const { lsn } = facts.recorded
  return {
    kind: verdict.status === 'confirmed' ? verdict.kind : 'none',
    explanation: EXPLANATIONS[verdict.status === 'confirmed' ? verdict.kind : verdict.reason],
    readAt: readAt.toISOString(),
    relayIncarnation: facts.eventIncarnation,
    currentIncarnation: facts.currentIncarnation,
    confirmedLsn: lsn === null ? null : formatLsn(lsn),
    record:
      verdict.status === 'confirmed' && verdict.kind === 'record'
        ? {
            topic: verdict.record.topic,
            partition: verdict.record.partition,
            offset: String(verdict.record.offset),
          }
        : null,
    observedAt: observedAt(verdict, facts)?.toISOString() ?? null,
    covers: COVERS,
  }
}

/**
 * When the confirmation was last observed; null while there is none. The watcher's record of a slot covers all
 * commits of an incarnation at once and moves on with the slot, so it does not keep when one commit was passed.
 */
export function observedAt(verdict: Verdict, facts: EvidenceFacts): Date | null {
  if (verdict.status !== 'confirmed') return null
  return verdict.kind === 'record' ? verdict.record.seenAt : facts.recorded.at
}
