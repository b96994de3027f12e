import { setTimeout as sleep } from 'node:timers/promises'
import type { CliContext } from './context.ts'
import { CliFailure } from './failure.ts'
import type { Publication, WriteApi } from './http/write-api.ts'

export type WaitFor = 'visible' | 'confirmed' | 'none'

type Saved = {
  readonly status: 'accepted' | 'replayed'
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
}

const POLL_MS = 100

/** Prints what was saved, then each state as it is reached. @throws CliFailure `not-yet` at the limit. */
export async function awaitState(
  context: CliContext,
  saved: Saved,
  waitFor: WaitFor,
  limitMs: number,
): Promise<void> {
  const { output } = context
  const { noteId, revision, eventId } = saved
  const replayed = saved.status === 'replayed'
  const states: { state: string; at: string | null }[] = []
  const finish = () => output.result({ noteId, revision, eventId, replayed, states }, () => [])
  if (!output.isJson) {
    const was = replayed ? 'was saved before' : 'saved'
    output.result(undefined, () => `${noteId}:${revision} ${was}, event ${eventId}`)
  }
  if (waitFor === 'none') {
    if (!output.isJson)
      output.result(undefined, () => `accepted; to follow it: bin/notesctl watch ${noteId}:${revision}`)
    return finish()
  }
  const known = new Set<string>()
  const reached = await pollUntil(context.writeApi(), saved, limitMs, (publication) => {
    for (const item of statesOf(publication)) {
      if (known.has(item.state)) continue
      known.add(item.state)
      states.push(item)
      if (!output.isJson) output.result(undefined, () => `${item.state}  ${item.at ?? ''}`)
    }
    return isReached(publication, waitFor)
  })
  finish()
  if (!reached) {
    throw new CliFailure(
      'not-yet',
      `${noteId}:${revision} is saved, but was not ${waitFor} within ${limitMs / 1000} s. It is not lost: see bin/notesctl relay status, and follow it with bin/notesctl watch ${noteId}:${revision}.`,
    )
  }
}

function statesOf({ accepted, confirmed, visible }: Publication): { state: string; at: string | null }[] {
  return [
    ...(accepted.answer === 'yes' ? [{ state: 'accepted', at: accepted.at }] : []),
    ...(confirmed.answer === 'yes' ? [{ state: 'confirmed', at: confirmed.at }] : []),
    ...(isShown(visible.answer)
      ? [{ state: visible.answer === 'yes' ? 'visible' : visible.answer, at: visible.at }]
      : []),
  ]
}

/** Readers get this revision: its text, its 410, or already a newer one. */
const isShown = (answer: string) => answer === 'yes' || answer === 'withdrawn' || answer === 'superseded'

const isReached = ({ confirmed, visible }: Publication, waitFor: WaitFor): boolean =>
  isShown(visible.answer) || (waitFor === 'confirmed' && confirmed.answer === 'yes')

async function pollUntil(
  writeApi: WriteApi,
  { noteId, revision }: Saved,
  limitMs: number,
  look: (publication: Publication) => boolean,
): Promise<boolean> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const publication = await writeApi.publication(noteId, revision)
    if (publication && look(publication)) return true
    if (performance.now() >= deadline) return false
    await sleep(POLL_MS)
  }
}
