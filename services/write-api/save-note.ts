import { randomUUID } from 'node:crypto'
import type { Span, Tracer } from '@opentelemetry/api'
import type { RequestHandler, Response } from 'express'
import { principalOf } from '../../core/auth.ts'
import { isLockTimeout, type Pool } from '../../core/database.ts'
import type { EnvelopeEncoder } from '../../core/envelope-encoder.ts'
import { spanOf, traceparentOf } from '../../core/http-app.ts'
import { jsonOf } from '../../core/json-body.ts'
import type { Logger } from '../../core/log.ts'
import { eventTypeOf, type SaveNoteCommand, SaveNoteCommand as Schema } from '../../core/note.ts'
import { Problem } from '../../core/problem.ts'
import { ATTRIBUTE, keyAttributes } from '../../core/tracing/attributes.ts'
import { traceIdOf } from '../../core/tracing/traceparent.ts'
import { valid } from '../../core/validate.ts'
import { acceptCommand, type Decision } from './accept-command.ts'
import type { Accepted } from './answers.ts'
import type { Coalesced, Coalescer } from './coalesce.ts'
import { traceCommit } from './commit-span.ts'
import { fingerprintOf, parseIdempotencyKey } from './idempotency.ts'
import type { CommandMetrics } from './metrics.ts'

export type SaveNoteParts = {
  readonly pool: Pool
  readonly encoder: EnvelopeEncoder
  readonly coalescer: Coalescer
  readonly metrics: CommandMetrics
  readonly logger: Logger
  readonly now: () => Date
  readonly tracer?: Tracer | undefined
}

type Request = {
  readonly principal: string
  readonly idempotencyKey: string
  readonly command: SaveNoteCommand
  readonly traceparent: string
  readonly span: Span | undefined
}

/** POST /notes. Authentication came before; here: syntax, then the receipt and the revision in the database. */
export function saveNote(parts: SaveNoteParts): RequestHandler {
  return async (req, res) => {
    const done = parts.metrics.start()
    let outcome: string = 'refused'
    try {
      const idempotencyKey = keyOf(req.get('idempotency-key'))
      const command = valid(Schema, jsonOf(req), 'invalid-content')
      const request = {
        principal: principalOf(req).id,
        idempotencyKey,
        command,
        traceparent: traceparentOf(req),
        span: spanOf(req),
      }
      request.span?.setAttributes(keyAttributes(command.noteId, command.revision, undefined))
      const start = performance.now()
      const decided = await decide(parts, request).catch((error: unknown) => {
        outcome = 'failed'
        log(parts.logger, request, { outcome: 'failed' }, performance.now() - start)
        throw error
      })
      outcome = decided.outcome
      request.span?.setAttributes({
        [ATTRIBUTE.outcome]: outcome,
        ...('eventId' in decided && { [ATTRIBUTE.eventId]: decided.eventId }),
      })
      log(parts.logger, request, decided, performance.now() - start)
      answer(res, command, decided)
    } finally {
      done(outcome)
    }
  }
}

function keyOf(header: string | undefined): string {
  if (header === undefined) {
    throw new Problem(
      'idempotency-key-required',
      'Send an Idempotency-Key header: a value of your choice, new for every command and the same for its repeats.',
    )
  }
  const key = parseIdempotencyKey(header)
  if (key === undefined) {
    throw new Problem(
      'malformed-request',
      'Idempotency-Key: 1 to 255 visible ASCII characters, bare or in double quotes.',
    )
  }
  return key
}

async function decide(parts: SaveNoteParts, request: Request): Promise<Coalesced> {
  const fingerprint = fingerprintOf(request.command)
  try {
    return await parts.coalescer.run(
      request.principal,
      request.idempotencyKey,
      fingerprint.toString('base64'),
      () => submit(parts, request, fingerprint),
    )
  } catch (error) {
    // Another process holds the receipt of this key; waiting for the note's row is another matter.
    if (
      isLockTimeout(error) &&
      /INSERT INTO request_receipts/.test((error as { where?: string }).where ?? '')
    ) {
      return { outcome: 'in-progress' }
    }
    throw error
  }
}

async function submit(parts: SaveNoteParts, request: Request, fingerprint: Buffer): Promise<Decision> {
  const { command } = request
  const eventId = randomUUID()
  const eventType = eventTypeOf(command.visibility)
  const occurredAt = parts.now()
  const envelope = await parts.encoder.encode({
    ...command,
    eventId,
    eventType,
    occurredAt: occurredAt.getTime(),
  })
  const answer: Accepted = {
    eventId,
    noteId: command.noteId,
    revision: command.revision,
    status: 'accepted',
    delivery: `/events/${eventId}`,
    publication: `/publications/${command.noteId}/${command.revision}`,
  }
  return traceCommit(parts.tracer, request, (traceparent) =>
    acceptCommand(parts.pool, {
      ...request,
      traceparent,
      fingerprint,
      occurredAt,
      eventId,
      eventType,
      envelope,
      answer,
    }),
  )
}

function answer(res: Response, command: SaveNoteCommand, decided: Coalesced): void {
  switch (decided.outcome) {
    case 'accepted':
    case 'replayed':
      if (decided.outcome === 'replayed') res.set('Idempotency-Replayed', 'true')
      res
        .status(202)
        .set({ Location: decided.answer.delivery, 'Cache-Control': 'no-store' })
        .json(decided.answer)
      return
    case 'key-reused':
      throw new Problem(
        'idempotency-key-reused',
        'This Idempotency-Key was used for a command with other content. Use a new key for a new command.',
        { extra: { eventId: decided.eventId } },
      )
    case 'revision-conflict':
      throw revisionConflict(command, decided)
    case 'in-progress':
      throw new Problem(
        'idempotency-key-in-progress',
        'Send the same request again: it will get the answer of the first one.',
        { headers: { 'Retry-After': '1' } },
      )
  }
}

function revisionConflict(
  { noteId, revision }: SaveNoteCommand,
  { currentRevision, existing }: Extract<Decision, { outcome: 'revision-conflict' }>,
): Problem {
  const at = currentRevision === 0 ? 'does not exist yet' : `is at revision ${currentRevision}`
  return new Problem(
    'revision-conflict',
    `${existing?.sameContent === null ? `The content of revision ${revision} was erased, so whether this is a repeat of it cannot be told. ` : ''}Note ${noteId} ${at}; a command must name revision ${currentRevision + 1}, this one names ${revision}. Read the note, apply the change to it and send that.`,
    { extra: { currentRevision, ...existing } },
  )
}

/** One line for each command; the trace id joins it to the caller's logs and to the reason of a failure. */
function log(
  logger: Logger,
  request: Request,
  decided: Coalesced | { readonly outcome: 'failed' },
  durationMs: number,
): void {
  const { command, traceparent, principal, idempotencyKey } = request
  logger.info(
    {
      outcome: decided.outcome,
      eventId: 'eventId' in decided ? decided.eventId : undefined,
      noteId: command.noteId,
      revision: command.revision,
      principal,
      idempotencyKey,
      traceId: traceIdOf(traceparent),
      durationMs: Math.round(durationMs * 10) / 10,
    },
    'command',
  )
}
