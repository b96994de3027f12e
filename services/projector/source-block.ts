import { z } from 'zod'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import { headerText } from './record-facts.ts'

/** Debezium's source block. Each member by itself: a bad one is null and spoils no other. */
const Source = z.object({
  lsn: z.int().positive().nullable().catch(null),
  txId: z.int().nonnegative().nullable().catch(null),
  ts_us: z.int().nonnegative().nullable().catch(null), // a safe integer: up to the year 2255
})
const NOTHING = { lsn: null, txId: null, ts_us: null }

/** What header `source` says about the transaction that wrote the outbox row; `ts_us` is its commit time. */
export function sourceOf({ headers }: KafkaRecord): z.infer<typeof Source> {
  const text = headerText(headers, 'source')
  if (text === undefined) return NOTHING
  try {
    const parsed = Source.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : NOTHING
  } catch {
    return NOTHING
  }
}
