import type { RequestHandler, Response } from 'express'
import type { Pool } from '../../core/database.ts'
import { noteETag } from '../../core/etag.ts'
import { type CatalogNote, readNote } from './catalog.ts'
import { NotePath, NoteQuery, type PublicNote } from './contract.ts'
import { type Decision, decide } from './decide.ts'
import { type Freshness, freshnessHeaders, UNKNOWN_FRESHNESS } from './freshness.ts'
import type { FreshnessReader } from './freshness-reader.ts'
import { parseParameters } from './parse.ts'
import { preferredWaitSeconds } from './prefer.ts'
import { notVisible, unknownNote, withdrawn } from './refusals.ts'
import { sendRepresentation } from './send.ts'
import type { RevisionWaiters, WaitOutcome } from './waiters.ts'

export type GetNoteParts = {
  readonly pool: Pool
  readonly freshness: FreshnessReader
  readonly waiters: RevisionWaiters
  /** Base address of the write API, for links to publications. */
  readonly writeApiUrl: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

type Wanted = { readonly noteId: string; readonly minRevision: number | undefined }
type Observation = { readonly decision: Decision; readonly freshness: Freshness }

async function observe({ pool, freshness: reader }: GetNoteParts, wanted: Wanted): Promise<Observation> {
  // Freshness first: a note read after it is at least as fresh as it says.
  const freshness = await reader.read()
  const reading = await readNote(pool, wanted.noteId, wanted.minRevision)
  const decision = decide(reading, wanted.minRevision)
  if (freshness.generation === reading.generation) return { decision, freshness }
  reader.forget()
  return { decision, freshness: UNKNOWN_FRESHNESS }
}

type Watched = { readonly observation: Observation; readonly lastWait: WaitOutcome['status'] | undefined }

/** Observes until there is something to answer other than "not yet", or until `waitMs` have passed. */
async function observeUntil(
  parts: GetNoteParts,
  wanted: Wanted,
  waitMs: number,
  signal: AbortSignal,
): Promise<Watched> {
  const deadline = parts.clock() + waitMs
  let lastWait: WaitOutcome['status'] | undefined
  for (;;) {
    const observation = await observe(parts, wanted)
    const remainingMs = deadline - parts.clock()
    const isOver = lastWait !== undefined && lastWait !== 'settled'
    const { noteId, minRevision } = wanted
    if (observation.decision.status !== 'not-yet' || minRevision === undefined)
      return { observation, lastWait }
    if (isOver || remainingMs <= 0) return { observation, lastWait }
    const outcome = await parts.waiters.wait({ noteId, revision: minRevision }, remainingMs, signal)
    if (outcome.status === 'failed') throw outcome.error
    lastWait = outcome.status
    if (lastWait === 'gone') return { observation, lastWait }
  }
}

/** Aborted when the connection closes before the answer is complete. */
function clientLeft(res: Response): AbortSignal {
  const controller = new AbortController()
  res.once('close', () => controller.abort())
  return controller.signal
}

const representationOf = (note: CatalogNote): PublicNote => ({
  noteId: note.noteId,
  revision: note.revision,
  title: note.title,
  url: note.url,
  type: note.type,
  body: note.body,
  revisedAt: note.revisedAt.toISOString(),
})

/** GET /notes/{noteId}, with ?minRevision=N and `Prefer: wait=S`. */
export const getNote =
  (parts: GetNoteParts): RequestHandler =>
  async (req, res) => {
    const { noteId } = parseParameters(NotePath, req.params)
    const { minRevision } = parseParameters(NoteQuery, req.query)
    const waitSeconds = minRevision === undefined ? undefined : preferredWaitSeconds(req.get('prefer'))
    res.set(freshnessHeaders(UNKNOWN_FRESHNESS))

    const { observation, lastWait } = await observeUntil(
      parts,
      { noteId, minRevision },
      (waitSeconds ?? 0) * 1000,
      clientLeft(res),
    )
    if (lastWait === 'gone') return
    const { decision, freshness } = observation
    res.set(freshnessHeaders(freshness))
    if (waitSeconds !== undefined && lastWait !== 'full' && lastWait !== 'stopping') {
      res.set('Preference-Applied', `wait=${waitSeconds}`)
    }
    switch (decision.status) {
      case 'visible': {
        const { note } = decision
        res.set('Note-Revision', String(note.revision))
        sendRepresentation(req, res, noteETag(note.revision, note.contentDigest), () =>
          JSON.stringify(representationOf(note)),
        )
        return
      }
      case 'withdrawn':
        throw withdrawn(decision.note)
      case 'unknown-note':
        throw unknownNote(noteId)
      case 'not-yet':
      case 'quarantined':
        throw notVisible({
          noteId,
          minRevision: minRevision ?? 1,
          decision,
          freshness,
          lastWait,
          writeApiUrl: parts.writeApiUrl,
        })
    }
  }
