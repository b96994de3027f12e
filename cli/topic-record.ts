import type { Decoded } from '../core/envelope-decoder.ts'
import type { KafkaRecord } from '../core/kafka/consumer.ts'
import { printable } from './output.ts'

const HEX_SHOWN_BYTES = 64

/** One record as `topic cat --json` prints it. `value.status` says whether it could be decoded. */
export type ShownRecord = {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly time: string
  /** As text; null for a record without key. */
  readonly key: string | null
  /** [name, value] in the record's order; values as text, JSON ones parsed. */
  readonly headers: readonly (readonly [name: string, value: unknown])[]
  readonly value:
    | { readonly status: 'decoded'; readonly schemaId: number; readonly event: Record<string, unknown> }
    | {
        readonly status: 'undecodable'
        readonly reason: string
        readonly explanation: string
        /** null: the record has no value. */
        readonly bytes: number | null
        /** The first 64 bytes. */
        readonly hex: string | null
      }
}

/** `decoded` may also say that nothing can be concluded, the registry being away. */
export type DecodeResult = Decoded | { readonly status: 'undecidable'; readonly explanation: string }

export function showRecord(topic: string, record: KafkaRecord, decoded: DecodeResult): ShownRecord {
  return {
    topic,
    partition: record.partition,
    offset: record.offset,
    time: new Date(record.timestampMs).toISOString(),
    key: record.key === null ? null : record.key.toString(),
    headers: record.headers.map(({ key, value }) => [key, headerValue(value)] as const),
    value:
      decoded.status === 'decoded'
        ? {
            status: 'decoded',
            schemaId: decoded.schemaId,
            event: { ...decoded.event, occurredAt: new Date(decoded.event.occurredAt).toISOString() },
          }
        : {
            status: 'undecodable',
            reason: decoded.status === 'undecidable' ? 'registry-unavailable' : decoded.reason,
            explanation: decoded.explanation,
            bytes: record.value?.length ?? null,
            hex: record.value?.subarray(0, HEX_SHOWN_BYTES).toString('hex') ?? null,
          },
  }
}

function headerValue(value: Buffer | null): unknown {
  const text = value?.toString() ?? null
  if (!text?.startsWith('{')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const BODY_SHOWN_CHARS = 200

/** A record for people: place and key, headers, then the event's fields; a long body is cut. */
export function recordLines(record: ShownRecord): string[] {
  const { value } = record
  const head = `${record.topic} [${record.partition}] @${record.offset}  ${record.time}  key ${printable(record.key ?? 'none')}`
  const headers = record.headers.map(([name, header]) => `  header ${printable(name)}: ${textOf(header)}`)
  if (value.status === 'undecodable') {
    const bytes =
      value.bytes === null ? 'no value' : `${value.bytes} bytes, starting ${value.hex || 'with nothing'}`
    return [
      head,
      ...headers,
      `  NOT DECODABLE (${value.reason}): ${printable(value.explanation)}`,
      `  ${bytes}`,
    ]
  }
  const fields = Object.entries(value.event).map(([name, field]) => {
    const text = textOf(field)
    const cut =
      text.length > BODY_SHOWN_CHARS
        ? `${text.slice(0, BODY_SHOWN_CHARS)}… (${text.length} characters)`
        : text
    return `  ${name}: ${cut}`
  })
  return [head, ...headers, `  schema ${value.schemaId}`, ...fields]
}

const textOf = (value: unknown): string =>
  printable(typeof value === 'string' ? value.replaceAll('\n', '⏎') : JSON.stringify(value))
