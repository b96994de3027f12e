import type { Pool } from '../../core/database.ts'
import {
  type Freshness,
  freshnessState,
  newestPassed,
  type Progress,
  recordsBehind,
  type Watermark,
} from './freshness.ts'
import { READ_LIMITS } from './limits.ts'

/**
 * Watermarks and progress in one statement, i.e. in one snapshot. The page starts at $2, the newest
 * watermark found passed before, so that a long stall costs one page a reading and not the whole table.
 */
const READ_FRESHNESS = `
  SELECT live.generation,
         extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms,
         (SELECT coalesce(json_agg(w ORDER BY w.as_of), '[]') FROM (
            SELECT as_of, floor(extract(epoch FROM as_of) * 1000) AS as_of_ms,
                   extract(epoch FROM observed_at) * 1000 AS observed_at_ms, topic_id, end_offsets
            FROM public.freshness WHERE topic = $1 AND as_of >= $2::timestamptz
            ORDER BY as_of LIMIT $3) w) AS page,
         (SELECT json_build_object('as_of', as_of, 'as_of_ms', floor(extract(epoch FROM as_of) * 1000),
                   'observed_at_ms', extract(epoch FROM observed_at) * 1000, 'topic_id', topic_id,
                   'end_offsets', end_offsets)
            FROM public.freshness WHERE topic = $1 ORDER BY as_of DESC LIMIT 1) AS newest,
         (SELECT coalesce(json_agg(json_build_object('partition', p.partition, 'next_offset', p.next_offset::text,
                   'topic_id', p.topic_id)), '[]')
            FROM catalog.progress p WHERE p.generation = live.generation AND p.topic = $1) AS progress
  FROM catalog.live_generation live`

type WatermarkRow = {
  readonly as_of: string
  readonly as_of_ms: number
  readonly observed_at_ms: number
  readonly topic_id: string
  readonly end_offsets: Readonly<Record<string, string | number>>
}
type FreshnessRow = {
  readonly generation: number
  readonly now_ms: number
  readonly page: readonly WatermarkRow[]
  readonly newest: WatermarkRow | null
  readonly progress: readonly { partition: number; next_offset: string; topic_id: string | null }[]
}

const watermarkOf = (row: WatermarkRow): Watermark & { key: string } => ({
  key: row.as_of,
  asOfMs: row.as_of_ms,
  observedAtMs: row.observed_at_ms,
  topicId: row.topic_id,
  endOffsets: new Map(
    Object.entries(row.end_offsets).map(([partition, end]) => [Number(partition), BigInt(end)]),
  ),
})

const FROM_THE_OLDEST = '-infinity'

/**
 * Freshness of the live catalog, read at most every `freshnessCacheMs` and by one request for all that
 * ask meanwhile. What it answers was true before the caller asked, so a note read afterwards is at least
 * that fresh. Rejects with the driver's error when the projection database is away; never guesses.
 */
export class FreshnessReader {
  readonly #pool: Pool
  readonly #topic: string
  readonly #clock: () => number
  #bound = FROM_THE_OLDEST
  #cached: { readonly freshness: Freshness; readonly readAtMs: number } | undefined
  #reading: Promise<Freshness> | undefined

  /** @param clock monotonic milliseconds. */
  constructor(pool: Pool, topic: string, clock: () => number = () => performance.now()) {
    this.#pool = pool
    this.#topic = topic
    this.#clock = clock
  }

  read(): Promise<Freshness> {
    if (this.#cached && this.#clock() - this.#cached.readAtMs <= READ_LIMITS.freshnessCacheMs) {
      return Promise.resolve(this.#cached.freshness)
    }
    this.#reading ??= this.#refresh().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** For when another generation was seen live: what is remembered speaks of the old one. */
  forget(): void {
    this.#cached = undefined
  }

  async #refresh(): Promise<Freshness> {
    const readAtMs = this.#clock()
    let { freshness, moreToPass } = await this.#query(READ_LIMITS.watermarksPerRead)
    if (freshness.asOfMs === undefined && this.#bound !== FROM_THE_OLDEST) {
      // Another generation went live, or the projection was restored: the remembered place means nothing.
      this.#bound = FROM_THE_OLDEST
      ;({ freshness, moreToPass } = await this.#query(READ_LIMITS.watermarksPerRead))
    }
    // Seldom more than once: at start, or when the catalog has caught up a long way since the last reading.
    for (let page = 1; moreToPass && page < READ_LIMITS.watermarkPages; page += 1) {
      ;({ freshness, moreToPass } = await this.#query(READ_LIMITS.watermarksPerRead * 4 ** Math.min(page, 3)))
    }
    this.#cached = { freshness, readAtMs }
    return freshness
  }

  async #query(limit: number): Promise<{ freshness: Freshness; moreToPass: boolean }> {
    const { rows } = await this.#pool.query<FreshnessRow>({
      name: 'read-freshness',
      text: READ_FRESHNESS,
      values: [this.#topic, this.#bound, limit],
    })
    const row = rows[0]
    if (!row) throw new Error('catalog.live_generation has no row')
    const progress: Progress = new Map(
      row.progress.map(({ partition, next_offset, topic_id }) => [
        partition,
        { nextOffset: BigInt(next_offset), topicId: topic_id },
      ]),
    )
    const page = row.page.map(watermarkOf)
    const passed = newestPassed(page, progress)
    if (passed) this.#bound = passed.key
    const first = page[0]
    const newest = row.newest ? watermarkOf(row.newest) : undefined
    return {
      freshness: {
        asOfMs: passed?.asOfMs,
        state: freshnessState(first && newest ? { first, newest, passed } : undefined, row.now_ms),
        recordsBehind: newest && recordsBehind(newest, progress),
        generation: row.generation,
      },
      moreToPass: page.length === limit && passed === page.at(-1),
    }
  }
}
