import type { RequestHandler } from 'express'
import { noteETag } from '../../core/etag.ts'
import { traceparentOf } from '../../core/http-app.ts'
import { Problem } from '../../core/problem.ts'
import type { AskPublicRead, PublicRead } from '../../core/public-read.ts'
import { judge } from '../../core/relay/evidence.ts'
import { valid } from '../../core/validate.ts'
import type { Publication } from './answers.ts'
import { observedAt } from './events.ts'
import type { FactsReader, PublicationFacts } from './facts.ts'
import { RevisionParams } from './notes.ts'
import { type Stages, stagesOf } from './stages.ts'

export type PublicationParts = {
  readonly facts: FactsReader
  readonly askPublicRead: AskPublicRead
  readonly now: () => Date
}

/** GET /publications/{noteId}/{revision}: accepted, confirmed and visible, in one word each with its time. */
export const getPublication =
  ({ facts, askPublicRead, now }: PublicationParts): RequestHandler =>
  async (req, res) => {
    const { noteId, revision } = valid(RevisionParams, req.params)
    const found = await facts.ofRevision(noteId, revision)
    if (!found) throw new Problem('not-found', `Note ${noteId} has no revision ${revision}.`)
    const etag = noteETag(revision, found.contentDigest)
    const read = await askPublicRead(noteId, etag, traceparentOf(req))
    const stages = stagesOf({ revision, etag, evidence: found.intent?.evidence, read })
    if (stages.visible === 'not-yet' || stages.visible === 'unknown') res.set('Retry-After', '1')
    res.set('Cache-Control', 'no-store').json(show(found, stages, read, now()))
  }

function show(found: PublicationFacts, stages: Stages, read: PublicRead, askedAt: Date): Publication {
  return {
    noteId: found.noteId,
    revision: found.revision,
    eventId: found.intent?.eventId ?? null,
    state: stages.state,
    accepted: { answer: stages.accepted, at: found.committedAt?.toISOString() ?? null },
    confirmed: {
      answer: stages.confirmed,
      evidence: stages.evidence,
      observedAt: stages.confirmed === 'yes' ? confirmationObservedAt(found, askedAt).toISOString() : null,
    },
    visible: {
      answer: stages.visible,
      at: askedAt.toISOString(),
      shownRevision: 'revision' in read ? read.revision : null,
      projectionAsOf: 'asOf' in read ? read.asOf : null,
    },
    delivery: found.intent ? `/events/${found.intent.eventId}` : null,
  }
}

/** By the relay's evidence, or else by readers getting it, which was asked now. */
function confirmationObservedAt({ intent }: PublicationFacts, askedAt: Date): Date {
  return (intent && observedAt(judge(intent.evidence), intent.evidence)) ?? askedAt
}
