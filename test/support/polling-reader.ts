import { setTimeout as sleep } from 'node:timers/promises'

type Listed = { readonly noteId: string; readonly revision: number; readonly revisedAt: string }

export type ReaderReport = {
  readonly passes: number
  readonly requests: number
  readonly wrong: readonly string[]
}

/**
 * A reader of the public API that asks all the time, single notes and whole lists, and keeps what must never be: a
 * revision that goes back, a note that is gone, a page in the wrong order, a note twice in a page, and a note that
 * nobody writes missing from a list or twice in it.
 */
export function startReader(
  readApiUrl: string,
  {
    still,
    written,
    pageSize,
  }: {
    /** Notes that nobody writes. */
    readonly still: readonly string[]
    /** Some of those that are written all the time. */
    readonly written: readonly string[]
    readonly pageSize: number
  },
) {
  const newest = new Map<string, number>()
  const wrong: string[] = []
  const isStill = new Set(still)
  let [passes, requests, going] = [0, 0, true]

  const saw = (noteId: string, revision: number, where: string) => {
    const before = newest.get(noteId) ?? 0
    if (revision < before) wrong.push(`${noteId} went back from ${before} to ${revision} in ${where}`)
    newest.set(noteId, Math.max(before, revision))
  }
  const ask = async (path: string) => {
    requests += 1
    const response = await fetch(`${readApiUrl}${path}`)
    // biome-ignore lint/suspicious/noExplicitAny: what it holds is checked here
    return { status: response.status, headers: response.headers, json: (await response.json()) as any }
  }

  async function readOne(noteId: string) {
    const { status, json } = await ask(`/notes/${noteId}`)
    if (status !== 200) wrong.push(`${noteId} was answered ${status}`)
    else saw(noteId, json.revision, 'a single read')
  }

  async function readList() {
    const seen = new Map<string, number>()
    for (let path: string | null = `/notes?limit=${pageSize}`; path !== null && going; ) {
      const { status, json }: Awaited<ReturnType<typeof ask>> = await ask(path)
      if (status !== 200) return void wrong.push(`the list was answered ${status}`)
      const notes: readonly Listed[] = json.items
      for (const [index, { noteId, revision, revisedAt }] of notes.entries()) {
        saw(noteId, revision, 'the list')
        seen.set(noteId, (seen.get(noteId) ?? 0) + 1)
        const before = notes[index - 1]
        const inOrder =
          !before ||
          before.revisedAt > revisedAt ||
          (before.revisedAt === revisedAt && before.noteId > noteId)
        if (!inOrder) wrong.push(`${before?.noteId} and ${noteId} are in the wrong order in a page`)
      }
      path = json.next
    }
    if (!going) return
    passes += 1
    for (const noteId of isStill) {
      if (seen.get(noteId) !== 1) wrong.push(`${noteId} was ${seen.get(noteId) ?? 0} times in a list`)
    }
  }

  const run = (async () => {
    while (going) {
      for (const noteId of written.slice(0, 20)) if (going) await readOne(noteId)
      await readList()
      await sleep(1)
    }
  })()
  return {
    /** Lists that were read whole so far. */
    get passes() {
      return passes
    },
    async stop(): Promise<ReaderReport> {
      going = false
      await run
      return { passes, requests, wrong }
    },
  }
}
