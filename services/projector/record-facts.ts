import type { Header, KafkaRecord } from '../../core/kafka/consumer.ts'
import { NOTE_ID_PATTERN } from '../../core/note.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
const REVISION = /^[1-9][0-9]{0,9}$/

/** The first value of a header as text; undefined when it is absent, null, or longer than any of ours. */
export function headerText(headers: readonly Header[], name: string): string | undefined {
  const value = headers.find(({ key }) => key === name)?.value
  return value && value.length <= 4_096 ? value.toString('utf8') : undefined
}

/** Header `id`, when it is a UUID; lower case, as PostgreSQL prints it. */
export function eventIdOf({ headers }: KafkaRecord): string | null {
  const text = headerText(headers, 'id')
  return text !== undefined && UUID.test(text) ? text.toLowerCase() : null
}

/** Header `revision`, when it is a positive 32-bit integer. */
export function revisionOf({ headers }: KafkaRecord): number | null {
  const text = headerText(headers, 'revision')
  const revision = text !== undefined && REVISION.test(text) ? Number(text) : Number.NaN
  return revision <= 2_147_483_647 ? revision : null
}

/** Header `traceparent`, when it has that form. */
export function traceparentOf({ headers }: KafkaRecord): string | null {
  const text = headerText(headers, 'traceparent')
  return text !== undefined && TRACEPARENT.test(text) ? text : null
}

const LATEST_TIME_MS = Date.UTC(9999, 11, 31)

/** The record's time, moved into what PostgreSQL and ISO 8601 can hold: a producer may claim any number. */
export const brokerTimeOf = ({ timestampMs }: KafkaRecord): Date =>
  new Date(Number.isFinite(timestampMs) ? Math.min(Math.max(timestampMs, 0), LATEST_TIME_MS) : 0)

/** The key as a note id, when it is one. */
export function noteIdOf({ key }: KafkaRecord): string | null {
  const text = key !== null && key.length <= 64 ? key.toString('utf8') : ''
  return NOTE_ID_PATTERN.test(text) ? text : null
}
