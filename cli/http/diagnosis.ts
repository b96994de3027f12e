import { z } from 'zod'

/** What of each answer this tool uses; more may be there. */
const Finding = z.looseObject({
  symptom: z.string(),
  cause: z.string(),
  severity: z.enum(['critical', 'warning', 'note']),
  subject: z.string().nullable(),
  summary: z.string(),
  facts: z.array(z.looseObject({ text: z.string(), source: z.string(), readAt: z.string() })),
  assumptions: z.array(z.string()),
  check: z.string(),
  owner: z.string(),
  next: z.array(z.looseObject({ run: z.string(), why: z.string() })),
  runbook: z.string(),
})
export type Finding = z.infer<typeof Finding>

const Judged = z.looseObject({
  verdict: z.looseObject({ status: z.enum(['in-order', 'attention', 'critical']), text: z.string() }),
  findings: z.array(Finding),
  unknown: z.array(z.looseObject({ part: z.string(), reason: z.string() })),
})
export type Judged = z.infer<typeof Judged>

const part = <T extends z.ZodType>(value: T) =>
  z.discriminatedUnion('status', [
    z.looseObject({ status: z.literal('read'), value }),
    z.looseObject({ status: z.literal('unknown'), reason: z.string() }),
  ])
const Count = z.looseObject({ count: z.int(), more: z.boolean() })

const Pipeline = z.looseObject({
  states: z.array(z.looseObject({ state: z.string(), count: part(Count) })),
  oldestPending: part(
    z
      .looseObject({
        noteId: z.string(),
        revision: z.int(),
        ageSeconds: z.number(),
        allowedSeconds: z.number(),
      })
      .nullable(),
  ),
  relay: part(
    z.looseObject({
      verdict: z.string(),
      connector: z.string().nullable(),
      tasks: z.array(z.looseObject({ id: z.int(), state: z.string() })),
      slot: z
        .looseObject({
          active: z.boolean(),
          fault: z.string().nullable(),
          confirmedFlushLsn: z.string().nullable(),
          lagBytes: z.number().nullable(),
        })
        .nullable(),
      relayedUntil: z.string().nullable(),
      lagSeconds: z.number().nullable(),
    }),
  ),
  consumers: part(
    z.array(
      z.looseObject({
        consumer: z.string(),
        generation: z.int(),
        live: z.boolean(),
        lagRecords: z.int().nullable(),
        lagSeconds: z.number().nullable(),
        members: z.int().nullable(),
        stopped: z.array(z.looseObject({ partition: z.int(), reason: z.string() })),
      }),
    ),
  ),
  quarantine: part(
    z.looseObject({
      open: z.array(
        z.looseObject({ consumer: z.string(), reason: z.string(), state: z.string(), count: z.int() }),
      ),
      more: z.boolean(),
    }),
  ),
  gaps: part(z.looseObject({ revisions: Count, oldestSeconds: z.number().nullable() })),
  publicRead: part(
    z.looseObject({
      asOf: z.string().nullable(),
      freshness: z.string().nullable(),
      ageSeconds: z.int().nullable(),
    }),
  ),
})
export type Pipeline = z.infer<typeof Pipeline>
export type Part<T> =
  | { readonly status: 'read'; readonly value: T }
  | { readonly status: 'unknown'; readonly reason: string }

export const Diagnosis = Judged.extend({ pipeline: Pipeline })
export type Diagnosis = z.infer<typeof Diagnosis>

export const PublicationDiagnosis = Judged.extend({
  noteId: z.string(),
  revision: z.int().nullable(),
  gaps: z.array(z.looseObject({ field: z.string(), gap: z.string(), explanation: z.string() })),
  publication: z
    .looseObject({
      state: z.string(),
      because: z.string().nullable(),
      owner: z.string(),
      isLate: z.boolean().nullable(),
      explanation: z.string(),
      answers: z.record(z.string(), z.string()),
    })
    .nullable(),
})
export type PublicationDiagnosis = z.infer<typeof PublicationDiagnosis>
