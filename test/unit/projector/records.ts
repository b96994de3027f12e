import { randomUUID } from 'node:crypto'
import { contentDigest } from '../../../core/content-digest.ts'
import type { KafkaRecord } from '../../../core/kafka/consumer.ts'
import { eventTypeOf, type NoteEvent } from '../../../core/note.ts'
import type { Admitted } from '../../../services/projector/decide.ts'

export const eventOf = (fields: Partial<NoteEvent> = {}): NoteEvent => {
  const visibility = fields.visibility ?? 'public'
  return {
    eventId: randomUUID(),
    eventType: eventTypeOf(visibility),
    noteId: 'note',
    revision: 1,
    title: 'A title',
    url: null,
    type: 'article',
    body: 'A body',
    occurredAt: Date.UTC(2026, 0, 1),
    ...fields,
    visibility,
  }
}

export const headersOf = (headers: Record<string, string | Buffer | null>): KafkaRecord['headers'] =>
  Object.entries(headers).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? Buffer.from(value) : value,
  }))

export const recordOf = (fields: Partial<KafkaRecord> = {}): KafkaRecord => ({
  partition: 0,
  offset: 0,
  timestampMs: Date.UTC(2026, 0, 1),
  key: null,
  value: null,
  headers: [],
  ...fields,
})

export const admittedOf = (event: NoteEvent, offset = 0): Admitted => ({
  record: recordOf({
    offset,
    key: Buffer.from(event.noteId),
    headers: headersOf({ id: event.eventId }),
  }),
  event,
  contentDigest: contentDigest(event),
})
