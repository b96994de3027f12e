import { z } from 'zod'
import { encodeCursor, type ListPosition, positionBefore } from '../../../core/list-position.ts'
import { askReadApi, notePath, type ReaderAnswer, readAnswer } from '../../../core/public-read.ts'
import type { Evidence, Gap, PublicListAnswer, PublicNoteAnswer } from './contract.ts'

/** A reader waits at most so long. */
const LIMIT_MS = 1_500

/** Headers that say who answered: the read API itself, or a cache before it. */
const TELLING = ['date', 'via', 'x-cache', 'cache-status', 'server'] as const

export type PublicAnswers = {
  readonly note: Evidence<PublicNoteAnswer>
  readonly list: Evidence<PublicListAnswer>
}

/** What the public read answers now for the note. Never throws: whatever goes wrong is a gap. */
export function askNote(
  readApiUrl: string,
  noteId: string,
  traceparent?: string,
): Promise<Evidence<PublicNoteAnswer>> {
  return asked(readApiUrl, notePath(noteId), traceparent, (answer) => {
    const meaning = readAnswer(answer)
    if (meaning.answer === 'unknown') return undefined
    return {
      url: answer.url,
      status: answer.status,
      answer: meaning.answer,
      revision: 'revision' in meaning ? meaning.revision : null,
      etag: answer.headers.get('etag'),
      ...cacheFacts(answer),
    }
  })
}

const Items = z.object({
  items: z.array(z.object({ noteId: z.string(), revision: z.int(), etag: z.string() })),
})

/**
 * What the public list shows at the place of the note, which its time and id give. Never throws.
 * @param place undefined: nobody knows when the note was revised, so nobody knows its place
 */
export function askList(
  readApiUrl: string,
  place: ListPosition | undefined,
  traceparent?: string,
): Promise<Evidence<PublicListAnswer>> {
  if (!place) {
    const explanation =
      'Neither the catalog nor the source says when the note was revised, so its place in the list is not known.'
    return Promise.resolve({ gap: 'not-yet', explanation })
  }
  const query = new URLSearchParams({ limit: '1', cursor: encodeCursor(positionBefore(place)) })
  return asked(readApiUrl, `/notes?${query}`, traceparent, (answer) => {
    const page = answer.status === 200 ? Items.safeParse(parseJson(answer.body)) : undefined
    if (!page?.success) return undefined
    const item = page.data.items.find(({ noteId }) => noteId === place.noteId)
    return {
      url: answer.url,
      status: answer.status,
      answer: item ? 'listed' : 'absent',
      revision: item?.revision ?? null,
      etag: answer.headers.get('etag'),
      itemEtag: item?.etag ?? null,
      ...cacheFacts(answer),
    }
  })
}

async function asked<T>(
  readApiUrl: string,
  path: string,
  traceparent: string | undefined,
  meaning: (answer: ReaderAnswer) => T | undefined,
): Promise<Evidence<T>> {
  let answer: ReaderAnswer
  try {
    const headers = traceparent === undefined ? {} : { traceparent }
    answer = await askReadApi(readApiUrl, path, { headers, limitMs: LIMIT_MS })
  } catch (error) {
    const isSlow = error instanceof Error && error.name === 'TimeoutError'
    return down(
      isSlow
        ? `The read API at ${readApiUrl} did not answer within ${LIMIT_MS} ms.`
        : `The read API at ${readApiUrl} cannot be reached.`,
    )
  }
  const value = meaning(answer)
  if (value === undefined)
    return down(`The read API answered ${answer.status} at ${answer.url}, which says nothing about the note.`)
  return { value, source: 'read-api', readAt: answer.at.toISOString() }
}

const down = (explanation: string): Gap => ({ gap: 'read-api-down', explanation })

function cacheFacts({ headers }: ReaderAnswer) {
  const age = headers.get('age')
  return {
    projectionAsOf: headers.get('projection-as-of'),
    projectionFreshness: headers.get('projection-freshness'),
    ageSeconds: age !== null && /^\d{1,9}$/.test(age) ? Number(age) : null,
    cacheControl: headers.get('cache-control'),
    headers: Object.fromEntries(
      TELLING.flatMap((name) => {
        const value = headers.get(name)
        return value === null ? [] : [[name, value]]
      }),
    ),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
