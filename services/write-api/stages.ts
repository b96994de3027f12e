import type { PublicRead } from '../../core/public-read.ts'
import { type EvidenceFacts, judge, type Verdict } from '../../core/relay/evidence.ts'
import type { Publication } from './answers.ts'

export type StageFacts = {
  readonly revision: number
  /** ETag of the canonical revision. */
  readonly etag: string
  readonly evidence: EvidenceFacts | undefined
  readonly read: PublicRead
}

export type Stages = {
  readonly state: Publication['state']
  readonly accepted: Publication['accepted']['answer']
  readonly confirmed: Publication['confirmed']['answer']
  /** What `confirmed: yes` rests on; none while it is not. */
  readonly evidence: Publication['confirmed']['evidence']
  readonly visible: Publication['visible']['answer']
}

/**
 * How far one revision has come, as far as it can be proven. Readers getting exactly this revision proves
 * that the broker had it. A newer one being shown proves nothing about this one: it may have been skipped.
 */
export function stagesOf({ revision, etag, evidence, read }: StageFacts): Stages {
  const visible = visibility(revision, etag, read)
  if (!evidence) return { state: 'note-only', accepted: 'no', confirmed: 'no', evidence: 'none', visible }
  const reached = visible === 'yes' || visible === 'withdrawn'
  const kind = evidenceOf(judge(evidence), reached)
  const confirmed = kind === 'none' ? 'not-yet' : 'yes'
  return { state: stateOf(visible, confirmed), accepted: 'yes', confirmed, evidence: kind, visible }
}

/** The relay's evidence comes first: it is what GET /events answers with too. */
function evidenceOf(verdict: Verdict, reached: boolean): Stages['evidence'] {
  if (verdict.status === 'confirmed') return verdict.kind
  return reached ? 'visible' : 'none'
}

function stateOf(visible: Stages['visible'], confirmed: 'yes' | 'not-yet'): Stages['state'] {
  switch (visible) {
    case 'yes':
      return 'visible'
    case 'withdrawn':
    case 'superseded':
      return visible
    case 'not-yet':
    case 'conflict':
    case 'unknown':
      return confirmed === 'yes' ? 'confirmed' : 'accepted'
  }
}

function visibility(revision: number, etag: string, read: PublicRead): Stages['visible'] {
  if (read.answer === 'unknown') return 'unknown'
  if (read.answer === 'absent' || read.revision < revision) return 'not-yet'
  if (read.revision > revision) return 'superseded'
  if (read.answer === 'withdrawn') return 'withdrawn'
  return read.etag === etag ? 'yes' : 'conflict'
}
