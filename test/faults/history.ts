import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'

/**
 * What the clients of a fault run sent and got, one entry for each request or list page, as JSON lines in the
 * order in which they ended. Written while the run goes on, read by the checker afterwards. Everything in it
 * was seen by a client from outside: nothing is asked of the product's own books.
 *
 * What the checker relies on, so that it needs no guesses:
 * - `startMs` is taken before the request is sent, `endMs` and `endedAt` after its answer was read whole or
 *   was given up. All entries of a run come from one process and one clock.
 * - An attempt is written down even when its answer never came: it may have taken effect.
 * - No two edits have the same content (`digest`), and an editor asks under a new key, or for another revision,
 *   only after an answer that refuses the edit for good. Reused keys with other content are edits of their own.
 */

const Ms = z.number().min(0)
const Revision = z.int().min(1)
const Digest = z.string().regex(/^[0-9a-f]{64}$/)
/** Status of the answer; null: none came (cut, timed out, not readable to its end). */
const Status = z.int().min(100).max(599).nullable()

const span = {
  /** Monotonic milliseconds since the start of the run. */
  startMs: Ms,
  endMs: Ms,
  /** The wall clock at endMs, in milliseconds since 1970: comparable with the broker's clock on this machine. */
  endedAt: z.int(),
}

const CommandAnswer = z.discriminatedUnion('outcome', [
  /** 202. `replayed`: it carried Idempotency-Replayed: true. */
  z.object({
    outcome: z.literal('accepted'),
    eventId: z.uuid(),
    noteId: z.string(),
    revision: z.int(),
    replayed: z.boolean(),
  }),
  /** Any other answer, with the members of its problem details that the checker reads. */
  z.object({
    outcome: z.literal('refused'),
    status: z.int(),
    code: z.string(),
    eventId: z.uuid().nullish(),
    currentRevision: z.int().optional(),
    sameContent: z.boolean().optional(),
  }),
  z.object({ outcome: z.literal('no-answer'), error: z.string() }),
])
export type CommandAnswer = z.infer<typeof CommandAnswer>

/** One POST /notes. */
const Command = z.object({
  kind: z.literal('command'),
  ...span,
  /** As in the receipts: `<issuer>|<subject>`. */
  principal: z.string(),
  key: z.string(),
  /** What the editor wants, whatever tries and keys it takes. */
  editId: z.string(),
  noteId: z.string(),
  revision: Revision,
  /** contentDigest() of what was sent. */
  digest: Digest,
  visibility: z.enum(['public', 'withdrawn']),
  answer: CommandAnswer,
})
export type Command = z.infer<typeof Command>

const freshness = {
  /** Projection-As-Of, an RFC 3339 time or `unknown`; null when the header was not there. */
  asOf: z.string().nullable(),
  /** Projection-Freshness. */
  freshness: z.string().nullable(),
}

/** One GET /notes/{noteId} of the public read API. */
const Read = z.object({
  kind: z.literal('read'),
  ...span,
  noteId: z.string(),
  minRevision: Revision.nullable(),
  status: Status,
  /** Header Note-Revision; null when there was none. */
  revision: Revision.nullable(),
  etag: z.string().nullable(),
  /** contentDigest() of the 200's body; null for other answers. */
  digest: Digest.nullable(),
  ...freshness,
})
export type Read = z.infer<typeof Read>

/** One page of GET /notes of the public read API. */
const List = z.object({
  kind: z.literal('list'),
  ...span,
  status: Status,
  items: z.array(z.object({ noteId: z.string(), revision: Revision, etag: z.string() })),
  ...freshness,
})
export type List = z.infer<typeof List>

/** One GET /notes/{noteId} of the write API. */
const Canonical = z.object({
  kind: z.literal('canonical'),
  ...span,
  noteId: z.string(),
  status: Status,
  revision: Revision.nullable(),
  etag: z.string().nullable(),
})
export type Canonical = z.infer<typeof Canonical>

/** One GET /events/{eventId}; `answer` of a 200. */
const EventPoll = z.object({
  kind: z.literal('event'),
  ...span,
  eventId: z.uuid(),
  status: Status,
  answer: z
    .object({
      status: z.enum(['accepted', 'confirmed']),
      noteId: z.string(),
      revision: z.int(),
      evidence: z.string(),
    })
    .nullable(),
})
export type EventPoll = z.infer<typeof EventPoll>

/** One GET /publications/{noteId}/{revision}; `answer` of a 200, in its own words. */
const PublicationPoll = z.object({
  kind: z.literal('publication'),
  ...span,
  noteId: z.string(),
  revision: Revision,
  status: Status,
  answer: z
    .object({
      state: z.string(),
      eventId: z.uuid().nullable(),
      accepted: z.string(),
      confirmed: z.string(),
      evidence: z.string(),
      visible: z.string(),
      shownRevision: Revision.nullable(),
      asOf: z.string().nullable(),
    })
    .nullable(),
})
export type PublicationPoll = z.infer<typeof PublicationPoll>

/** What the run did to the pipeline. The checker reads none of it: no fault excuses a violation. */
const Fault = z.object({
  kind: z.literal('fault'),
  id: z.int(),
  fault: z.string(),
  target: z.string(),
  startMs: Ms,
  /** When it was taken back. */
  endMs: Ms,
  /** When the pipeline was whole again, counted from endMs; null: not before the next fault began. */
  recoveredAfterMs: Ms.nullable(),
})
export type Fault = z.infer<typeof Fault>

/** The first entry. */
const Run = z.object({
  kind: z.literal('run'),
  seed: z.string(),
  startedAt: z.int(),
})
export type Run = z.infer<typeof Run>

export const HistoryEntry = z.discriminatedUnion('kind', [
  Run,
  Command,
  Read,
  List,
  Canonical,
  EventPoll,
  PublicationPoll,
  Fault,
])
export type HistoryEntry = z.infer<typeof HistoryEntry>

/** The one clock of a run. */
export type RunClock = {
  readonly startedAt: number
  /** Monotonic milliseconds since the start. */
  now(): number
  /** `endMs` and `endedAt` for an answer that has just been read. */
  end(): { readonly endMs: number; readonly endedAt: number }
}

export function startRunClock(): RunClock {
  const origin = performance.now()
  const now = () => Math.round((performance.now() - origin) * 1_000) / 1_000
  return { startedAt: Date.now(), now, end: () => ({ endMs: now(), endedAt: Date.now() }) }
}

const CHUNK_CHARS = 64 * 1024

/** Appends entries to a file. `record` never waits; lines wait in memory until the file has taken them. */
export class HistoryWriter {
  readonly #file: WriteStream
  #error: Error | undefined
  #chunk: string[] = []
  #chunkChars = 0
  #entries = 0

  constructor(path: string) {
    this.#file = createWriteStream(path, { flags: 'wx' })
    this.#file.on('error', (error) => {
      this.#error = error
    })
  }

  get entries(): number {
    return this.#entries
  }

  record(entry: HistoryEntry): void {
    const line = `${JSON.stringify(entry)}\n`
    this.#entries += 1
    this.#chunk.push(line)
    this.#chunkChars += line.length
    if (this.#chunkChars >= CHUNK_CHARS) this.#flush()
  }

  /** @throws when the file could not be written whole: then there is no history to check. */
  async close(): Promise<void> {
    this.#flush()
    await new Promise<void>((resolve) => this.#file.end(resolve))
    if (this.#error) throw this.#error
  }

  #flush(): void {
    if (this.#chunk.length > 0) this.#file.write(this.#chunk.join(''))
    this.#chunk = []
    this.#chunkChars = 0
  }
}

/** Entries of a file, one at a time. @throws Error naming the line that is not one. */
export async function* readHistory(path: string): AsyncGenerator<HistoryEntry> {
  let lineNumber = 0
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    lineNumber += 1
    yield parseLine(line, `${path}:${lineNumber}`)
  }
}

function parseLine(line: string, where: string): HistoryEntry {
  try {
    return HistoryEntry.parse(JSON.parse(line))
  } catch (error) {
    throw new Error(`${where} is no entry of a history: ${(error as Error).message}`, { cause: error })
  }
}
