import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { SaveNoteCommand } from '../../core/note.ts'
import { ATTRIBUTE, keyAttributes } from '../../core/tracing/attributes.ts'
import { traceparentOf } from '../../core/tracing/traceparent.ts'
import type { Decision } from './accept-command.ts'

type Traced = {
  readonly command: SaveNoteCommand
  /** Of the request. */
  readonly traceparent: string
  readonly span: Span | undefined
}

/**
 * Runs the commit in a span of its own. Its context is what the outbox row carries, and with it every record
 * of the event: what consumers do is a child of the commit. Without a tracer that is the request's context.
 */
export async function traceCommit(
  tracer: Tracer | undefined,
  { command, traceparent, span: request }: Traced,
  commit: (traceparent: string) => Promise<Decision>,
): Promise<Decision> {
  if (!tracer || !request) return commit(traceparent)
  const span = tracer.startSpan(
    'commit outbox',
    {
      // By the conventions of messaging this is where a message is created.
      kind: SpanKind.PRODUCER,
      attributes: {
        [ATTRIBUTE.operationType]: 'create',
        [ATTRIBUTE.operationName]: 'commit',
        [ATTRIBUTE.databaseSystem]: 'postgresql',
        [ATTRIBUTE.procedure]: 'accept_command',
        ...keyAttributes(command.noteId, command.revision, undefined),
      },
    },
    trace.setSpan(ROOT_CONTEXT, request),
  )
  try {
    const decision = await commit(traceparentOf(span.spanContext()))
    span.setAttribute(ATTRIBUTE.outcome, decision.outcome)
    if ('eventId' in decision) {
      span.setAttributes({
        [ATTRIBUTE.eventId]: decision.eventId,
        [ATTRIBUTE.messageId]: decision.eventId,
      })
    }
    return decision
  } catch (error) {
    // The driver's text can hold what the editor wrote; its code cannot.
    const code = (error as { code?: unknown }).code
    span.setAttribute(ATTRIBUTE.errorType, typeof code === 'string' ? code : 'unknown')
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}
