import { setTimeout as sleep } from 'node:timers/promises'
import { CONFIRMED_BY } from './confirmed-by.ts'
import type { CliContext } from './context.ts'
import { CliFailure } from './failure.ts'
import type { Publication, WriteApi } from './http/write-api.ts'
import { nextLook } from './next-look.ts'
import { findQuarantined } from './quarantined.ts'

export type WaitFor = 'visible' | 'confirmed' | 'none'

type Saved = {
  /** unchanged: the canonical note had this content already. */
  readonly status: 'accepted' | 'replayed' | 'unchanged'
  readonly noteId: string
  readonly revision: number
  /** null: written around the write API, so nothing was published. */
  readonly eventId: string | null
}

/** `at` of `accepted` is the commit; of the others when it was observed, at most one poll after it could be. */
type Reached = { readonly state: string; readonly at: string | null; readonly text: string }

const POLL_MS = 100
const WAS = { accepted: 'saved', replayed: 'was saved before', unchanged: 'unchanged' } as const

/** Prints what was saved, then each state as it is reached. @throws CliFailure `not-yet` at the limit. */
export async function awaitState(
  context: CliContext,
  saved: Saved,
  waitFor: WaitFor,
  limitMs: number,
): Promise<void> {
  const { output } = context
  const { noteId, revision, eventId, status } = saved
  const states: { state: string; at: string | null }[] = []
  const result = {
    ...{ noteId, revision, eventId, states },
    ...{ replayed: status === 'replayed', unchanged: status === 'unchanged' },
  }
  const finish = () => output.result(result, () => [])
  if (!output.isJson) {
    output.result(undefined, () => `${noteId}:${revision} ${WAS[status]}, event ${eventId ?? 'none'}`)
  }
  if (waitFor === 'none') {
    if (!output.isJson)
      output.result(undefined, () => `to follow it: bin/notesctl watch ${noteId}:${revision}`)
    return finish()
  }
  const known = new Set<string>()
  let last: Publication | undefined
  const reached = await pollUntil(context.writeApi(), saved, limitMs, (publication) => {
    last = publication
    for (const { state, at, text } of statesOf(publication)) {
      if (known.has(state)) continue
      known.add(state)
      states.push({ state, at })
      if (!output.isJson) output.result(undefined, () => `${state.padEnd(10)}  ${text}`)
    }
    return isReached(publication, waitFor)
  })
  finish()
  if (!reached) {
    throw new CliFailure(
      'not-yet',
      `${noteId}:${revision} is saved, but was not ${waitFor} within ${limitMs / 1000} s. It is not lost: bin/notesctl watch ${noteId}:${revision} follows it. ${await explain(context, saved, last)}`,
    )
  }
}

async function explain(
  context: CliContext,
  { noteId: note, revision }: Saved,
  publication: Publication | undefined,
): Promise<string> {
  if (publication?.state === 'note-only') {
    return `It was written around the write API, without publication intent.\nNext: publish it again with --force`
  }
  const readers = publication?.visible.answer
  const { settings } = context
  return nextLook({
    note,
    quarantined: await findQuarantined(context, note, revision),
    inKafka: publication?.confirmed.answer === 'yes',
    inCatalog: undefined,
    readers: readers === 'conflict' || readers === 'unknown' ? readers : 'not-yet',
    projectorUrl: settings.text('PROJECTOR_URL'),
    readApiUrl: settings.text('READ_API_URL'),
  })
}

function statesOf({ accepted, confirmed, visible }: Publication): Reached[] {
  const reached: Reached[] = []
  if (accepted.answer === 'yes') {
    reached.push({ state: 'accepted', at: accepted.at, text: accepted.at ?? 'time unknown' })
  }
  if (confirmed.answer === 'yes') {
    const { observedAt: at, evidence } = confirmed
    reached.push({ state: 'confirmed', at, text: `known at ${at}: ${CONFIRMED_BY[evidence]}` })
  }
  if (isShown(visible.answer)) {
    const state = visible.answer === 'yes' ? 'visible' : visible.answer
    reached.push({ state, at: visible.at, text: `known at ${visible.at}: the read API was asked` })
  }
  return reached
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
