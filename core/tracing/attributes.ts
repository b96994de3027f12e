import type { Attributes } from '@opentelemetry/api'

/**
 * Names of span attributes. Those of OpenTelemetry's semantic conventions as they are
 * (https://opentelemetry.io/docs/specs/semconv/), ours under `notes.`. No span holds what an editor wrote, who
 * wrote it, or from where: spans go to a system of their own, which an erasure does not reach.
 */
export const ATTRIBUTE = {
  method: 'http.request.method',
  originalMethod: 'http.request.method_original',
  route: 'http.route',
  status: 'http.response.status_code',
  path: 'url.path',
  scheme: 'url.scheme',
  protocolVersion: 'network.protocol.version',
  errorType: 'error.type',
  messagingSystem: 'messaging.system',
  operationType: 'messaging.operation.type',
  operationName: 'messaging.operation.name',
  destination: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  offset: 'messaging.kafka.offset',
  consumerGroup: 'messaging.consumer.group.name',
  batchRecords: 'messaging.batch.message_count',
  messageId: 'messaging.message.id',
  databaseSystem: 'db.system.name',
  procedure: 'db.stored_procedure.name',
  /** `noteId:revision`, the key of a publication. */
  key: 'notes.key',
  noteId: 'notes.note_id',
  eventId: 'notes.event_id',
  outcome: 'notes.outcome',
  /** Why a record is in quarantine, by its stable code. */
  reason: 'notes.reason',
  consumer: 'notes.consumer',
  generation: 'notes.generation',
  /** What made the record come: `delivery`, `replay` or `redrive`. */
  trigger: 'notes.trigger',
  actionId: 'notes.action_id',
  committedAt: 'notes.committed_at',
  brokerTime: 'notes.broker_time',
  /** From the commit of the outbox row to the broker's append. */
  relayMs: 'notes.relay_ms',
} as const

/** The key of a publication, as far as it is known. */
export function keyAttributes(
  noteId: string | null | undefined,
  revision: number | string | null | undefined,
  eventId: string | null | undefined,
): Attributes {
  return {
    ...(noteId != null && { [ATTRIBUTE.noteId]: noteId }),
    ...(noteId != null && revision != null && { [ATTRIBUTE.key]: `${noteId}:${revision}` }),
    ...(eventId != null && { [ATTRIBUTE.eventId]: eventId }),
  }
}
