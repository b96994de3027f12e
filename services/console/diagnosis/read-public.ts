import type { ConsoleParts } from '../parts.ts'
import type { Pipeline } from './contract.ts'
import { PART_LIMIT_MS, type Part, readPart } from './part.ts'

type Value<T> = T extends { status: 'read'; value: infer V } ? V : never
export type PublicReading = Value<Pipeline['publicRead']> & {
  /** max-age of its Cache-Control; null: it has none. */
  readonly maxAgeSeconds: number | null
}

/** What readers are told now: one page of the list, asked over HTTP at the address that readers use. */
export const readPublicList = ({
  readApiUrl,
  logger,
}: Pick<ConsoleParts, 'readApiUrl' | 'logger'>): Promise<Part<PublicReading>> =>
  readPart(logger, 'public read API', async () => {
    const response = await fetch(`${readApiUrl}/notes?limit=1`, {
      redirect: 'error',
      signal: AbortSignal.timeout(PART_LIMIT_MS),
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`it answers ${response.status}`)
    return {
      asOf: response.headers.get('Projection-As-Of'),
      freshness: response.headers.get('Projection-Freshness'),
      ageSeconds: ageOf(response.headers.get('Age')),
      maxAgeSeconds: maxAgeOf(response.headers.get('Cache-Control')),
    }
  })

/** Header Age, which only a cache sets; null: there is none. Pure. */
export const ageOf = (header: string | null): number | null =>
  header !== null && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null

/** Pure. */
export function maxAgeOf(header: string | null): number | null {
  const found = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(header ?? '')
  return found ? Number(found[1]) : null
}
