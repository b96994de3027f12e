import type { KafkaRecord } from '../../core/kafka/consumer.ts'

/** Records that are applied in one transaction. `nextOffset` is where progress stands after it. */
export type Portion = { readonly records: readonly KafkaRecord[]; readonly nextOffset: number }

/** Bounds one transaction, and with it memory and the time that locks are held. */
export const PORTION_LIMITS = { records: 2_000, bytes: 4 * 1024 * 1024 } as const

const bytesOf = ({ key, value }: KafkaRecord): number => (key?.length ?? 0) + (value?.length ?? 0)

/**
 * Splits records of one partition, in order, into portions within the limits; a single record may be larger.
 * @param nextOffset where progress stands after the last record: transaction markers may follow it.
 */
export function* portionsOf(
  records: readonly KafkaRecord[],
  nextOffset: number,
  limits: { readonly records: number; readonly bytes: number } = PORTION_LIMITS,
): Generator<Portion> {
  let start = 0
  let bytes = 0
  for (const [index, record] of records.entries()) {
    const size = bytesOf(record)
    if (index > start && (index - start >= limits.records || bytes + size > limits.bytes)) {
      yield { records: records.slice(start, index), nextOffset: record.offset }
      start = index
      bytes = 0
    }
    bytes += size
  }
  yield { records: start === 0 ? records : records.slice(start), nextOffset }
}

/** The two halves of a portion that the database refused: the guilty record is in one of them. */
export function halvesOf({ records, nextOffset }: Portion): [Portion, Portion] {
  const middle = Math.ceil(records.length / 2)
  const second = records.slice(middle)
  const boundary = second[0]?.offset ?? nextOffset
  return [
    { records: records.slice(0, middle), nextOffset: boundary },
    { records: second, nextOffset },
  ]
}
