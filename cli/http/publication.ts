import { z } from 'zod'

/** A value with where and when it was read, or a named gap. */
const evidence = <T extends z.ZodType>(value: T) =>
  z.union([
    z.looseObject({ value, source: z.string(), readAt: z.string() }),
    z.looseObject({ gap: z.string(), explanation: z.string() }),
  ])
export type Evidence<T> =
  | { readonly value: T; readonly source: string; readonly readAt: string }
  | { readonly gap: string; readonly explanation: string }

const text = evidence(z.string())
const writer = z.looseObject({
  transactionId: z.string(),
  sessionUser: z.string(),
  applicationName: z.string(),
})
const cached = {
  url: z.string(),
  status: z.int(),
  answer: z.string(),
  revision: z.int().nullable(),
  etag: z.string().nullable(),
  projectionAsOf: z.string().nullable(),
  ageSeconds: z.number().nullable(),
  cacheControl: z.string().nullable(),
}

/** What of a publication's chain is printed; `--json` prints all of it. */
export const PublicationChain = z.looseObject({
  noteId: z.string(),
  revision: z.int(),
  chosen: z.string(),
  state: z.string(),
  because: z.string().nullable(),
  owner: z.string(),
  isLate: z.boolean().nullable(),
  explanation: z.string(),
  readAt: z.string(),
  canonical: z.looseObject({
    contentDigest: text,
    visibility: text,
    occurredAt: text,
    newestRevision: evidence(z.int()),
  }),
  operation: z.looseObject({
    principal: text,
    idempotencyKey: text,
    answer: evidence(z.record(z.string(), z.unknown())),
    answeredAt: text,
  }),
  intent: z.looseObject({
    key: text,
    eventId: text,
    eventType: text,
    createdAt: text,
    envelope: evidence(z.looseObject({ bytes: z.int(), sha256: z.string() })),
    traceparent: text,
  }),
  commit: z.looseObject({
    at: text,
    walPosition: text,
    writePath: evidence(
      z.looseObject({
        revision: writer,
        intent: writer.nullable(),
        receipt: writer.nullable(),
        explanation: z.string(),
      }),
    ),
  }),
  relay: z.looseObject({
    evidence: evidence(z.looseObject({ confirmed: z.boolean(), explanation: z.string() })),
    slot: evidence(
      z.looseObject({
        incarnationAtCommit: z.int().nullable(),
        currentIncarnation: z.int().nullable(),
        confirmedLsn: z.string().nullable(),
      }),
    ),
    incidents: evidence(
      z.array(
        z.looseObject({
          alarm: z.string(),
          openedAt: z.string(),
          closedAt: z.string().nullable(),
          restarts: z.int(),
          lastText: z.string(),
          duringRelay: z.boolean().nullable(),
        }),
      ),
    ),
  }),
  records: evidence(
    z.looseObject({
      count: z.int(),
      others: z.int(),
      shown: z.array(
        z.looseObject({
          topic: z.string(),
          partition: z.int(),
          offset: z.string(),
          brokerTime: z.string(),
          delivery: z.string(),
        }),
      ),
    }),
  ),
  consumers: z.array(
    z.looseObject({
      consumer: z.string(),
      generation: z.int().nullable(),
      isLive: z.boolean(),
      result: z.string(),
      at: text,
      repeats: z.int().nullable(),
      explanation: z.string(),
    }),
  ),
  catalog: evidence(
    z.looseObject({ generation: z.int(), revision: z.int().nullable(), appliedAt: z.string().nullable() }),
  ),
  public: z.looseObject({
    note: evidence(z.looseObject(cached)),
    list: evidence(z.looseObject({ ...cached, itemEtag: z.string().nullable() })),
  }),
  answers: z.looseObject({
    canonical: z.string(),
    intent: z.string(),
    operation: z.string(),
    consumers: z.string(),
    public: z.string(),
  }),
})
export type PublicationChain = z.infer<typeof PublicationChain>
