import { formatLsn } from '../../../core/lsn.ts'
import { judge } from '../../../core/relay/evidence.ts'
import type { Evidence, Gap, Publication } from './contract.ts'
import { atSource, NO_INTENT, NO_REVISION, SOURCE_DOWN } from './found.ts'
import type { IntentRow, PublicationKey, ReceiptRow, SourceFacts, Writer } from './source-facts.ts'

export function canonicalOf(source: SourceFacts | undefined): Publication['canonical'] {
  if (!source) {
    return {
      contentDigest: SOURCE_DOWN,
      visibility: SOURCE_DOWN,
      occurredAt: SOURCE_DOWN,
      newestRevision: SOURCE_DOWN,
    }
  }
  const { revision, newestRevision } = source
  const erased: Gap | undefined = revision?.erasedAt
    ? { gap: 'erased', explanation: `The content was erased at ${revision.erasedAt.toISOString()}.` }
    : undefined
  const found = <T>(value: T | undefined): Evidence<T> =>
    value === undefined ? NO_REVISION : atSource(source, value)
  return {
    contentDigest: erased ?? found(revision?.contentDigest),
    visibility: erased ?? found(revision?.visibility),
    occurredAt: found(revision?.occurredAt.toISOString()),
    newestRevision: found(newestRevision),
  }
}

/** The role that only the write API logs in with: what it wrote had a receipt. */
const WRITE_API_ROLE = 'notes_write_api'

export function operationOf(source: SourceFacts | undefined): Publication['operation'] {
  const field = <T>(read: (receipt: ReceiptRow) => T): Evidence<T> => {
    if (!source) return SOURCE_DOWN
    return source.receipt ? atSource(source, read(source.receipt)) : noReceipt(source)
  }
  return {
    principal: field(({ principal }) => principal),
    idempotencyKey: field(({ idempotencyKey }) => idempotencyKey),
    answer: field(({ answer }) => answer),
    answeredAt: field(({ createdAt }) => createdAt.toISOString()),
  }
}

function noReceipt({ revision, intent }: SourceFacts): Gap {
  if (!revision) return NO_REVISION
  if (!intent)
    return { gap: 'no-intent', explanation: 'Without an intent there is no event that a receipt could name.' }
  const wasAccepted =
    intent.writer.sessionUser === WRITE_API_ROLE &&
    intent.writer.transactionId === revision.writer.transactionId
  return wasAccepted
    ? {
        gap: 'pruned',
        explanation:
          'The write API accepted it; its receipt is gone, as the retention contract allows after 7 days.',
      }
    : {
        gap: 'never-recorded',
        explanation: 'It was not written by the write API, so there never was a receipt.',
      }
}

export function intentOf(
  { noteId, revision }: PublicationKey,
  source: SourceFacts | undefined,
): Publication['intent'] {
  const field = <T>(read: (intent: IntentRow) => T): Evidence<T> => {
    if (!source) return SOURCE_DOWN
    if (!source.intent) return source.revision ? NO_INTENT : NO_REVISION
    return atSource(source, read(source.intent))
  }
  const pruned = source?.intent && prunedGap(source.intent)
  return {
    key: field(() => `${noteId}:${revision}`),
    eventId: field(({ eventId }) => eventId),
    eventType: field(({ eventType }) => eventType),
    createdAt: field(({ createdAt }) => createdAt.toISOString()),
    envelope:
      pruned ??
      field(({ envelopeBytes, envelopeSha256 }) => ({
        bytes: envelopeBytes ?? 0,
        sha256: envelopeSha256 ?? '',
      })),
    traceparent: field(({ traceparent }) => traceparent),
  }
}

function prunedGap({ prunedAt, prunedWhy }: IntentRow): Gap | undefined {
  if (!prunedAt) return undefined
  return prunedWhy === 'erased'
    ? { gap: 'erased', explanation: `Erased at ${prunedAt.toISOString()}.` }
    : {
        gap: 'pruned',
        explanation: `Pruned by contract at ${prunedAt.toISOString()}: every consumer had applied it.`,
      }
}

export function writePath(source: SourceFacts | undefined): Publication['commit']['writePath'] {
  if (!source) return SOURCE_DOWN
  const { revision, intent, receipt } = source
  if (!revision) return NO_REVISION
  const writers = [revision.writer, intent?.writer, receipt?.writer]
  const oneTransaction = writers.every((writer) => writer?.transactionId === revision.writer.transactionId)
  return atSource(source, {
    revision: revision.writer,
    intent: intent?.writer ?? null,
    receipt: receipt?.writer ?? null,
    oneTransaction,
    explanation: explainWritePath(revision.writer, intent?.writer, receipt?.writer),
  })
}

function explainWritePath(revision: Writer, intent: Writer | undefined, receipt: Writer | undefined): string {
  const who = `${revision.sessionUser}, application "${revision.applicationName}"`
  if (!intent) return `Written by ${who}, in a transaction without an intent: around the write API.`
  if (intent.transactionId !== revision.transactionId)
    return `The revision was written by ${who}; its intent by ${intent.sessionUser}, application "${intent.applicationName}", in another transaction.`
  if (!receipt) return `Revision and intent are one commit by ${who}; there is no receipt.`
  return receipt.transactionId === revision.transactionId
    ? `Revision, intent and receipt are one commit by ${who}.`
    : `Revision and intent are one commit by ${who}; the receipt is of another.`
}

export function relayEvidence(source: SourceFacts | undefined): Publication['relay']['evidence'] {
  if (!source) return SOURCE_DOWN
  if (!source.intent) return source.revision ? NO_INTENT : NO_REVISION
  const verdict = judge(source.intent.evidence)
  if (verdict.status === 'accepted')
    return atSource(source, {
      confirmed: false,
      kind: 'none' as const,
      explanation: `No evidence: ${verdict.reason}.`,
    })
  const { recorded } = source.intent.evidence
  const explanation =
    verdict.kind === 'recorded'
      ? `The watcher saw the slot of the commit pass it, up to ${recorded.lsn === null ? 'an unknown position' : formatLsn(recorded.lsn)}.`
      : `A consumer saw its record at ${verdict.record.topic}-${verdict.record.partition}, offset ${verdict.record.offset}.`
  return atSource(source, { confirmed: true, kind: verdict.kind, explanation })
}

export function slotOf(source: SourceFacts | undefined): Publication['relay']['slot'] {
  if (!source) return SOURCE_DOWN
  if (!source.intent) return source.revision ? NO_INTENT : NO_REVISION
  const { eventIncarnation, currentIncarnation, recorded } = source.intent.evidence
  return {
    value: {
      incarnationAtCommit: eventIncarnation,
      currentIncarnation,
      confirmedLsn: recorded.lsn === null ? null : formatLsn(recorded.lsn),
      confirmedAt: recorded.at?.toISOString() ?? null,
    },
    source: 'source',
    // As the watcher last saw it.
    readAt: (recorded.at ?? source.readAt).toISOString(),
  }
}
