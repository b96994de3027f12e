import { z } from 'zod'
import { ActionBody } from '../action-request.ts'

/** Why an envelope is kept although nothing else is known against pruning it. */
export const KEPT = {
  'too-young': 'It has not reached the minimum age.',
  quarantined: 'A record of it lies in quarantine, open or held. That never expires.',
  'not-seen-by-audit': 'Audit has no record of these very bytes.',
  'not-applied-by-catalog': 'A generation of catalog, also one that is being built, has not applied it.',
  busy: 'A replay still needs it, or somebody held its row at that moment.',
} as const
export type Kept = keyof typeof KEPT

const Counts = z.record(z.string(), z.int()).meta({
  description: `By reason. ${Object.entries(KEPT)
    .map(([name, text]) => `${name}: ${text}`)
    .join(' ')}`,
})

const Limits = z.object({
  envelopeDays: z.int(),
  receiptDays: z.int(),
  restoreDays: z.int(),
  rowsPerSecond: z.int(),
})

export const RetentionRun = z
  .object({
    id: z.uuid().meta({ description: 'Also the id of the recorded action.' }),
    status: z.enum(['running', 'finished']),
    step: z.enum(['envelopes', 'receipts']).meta({ description: 'What it does, or did last.' }),
    waitsFor: z.string().nullable(),
    limits: Limits,
    pruned: z.int().meta({ description: 'Envelopes pruned.' }),
    receipts: z.int().meta({ description: 'Receipts deleted.' }),
    kept: Counts.meta({ description: 'Envelopes that were looked at and kept, by reason.' }),
    startedAt: z.iso.datetime(),
    changedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'RetentionRun' })
export type RetentionRun = z.infer<typeof RetentionRun>

export const RetentionPlan = z
  .object({
    limits: Limits,
    topic: z
      .object({ cleanupPolicy: z.string().nullable(), retentionMs: z.number().nullable() })
      .nullable()
      .meta({ description: 'How the topic forgets; null: Kafka does not say.' }),
    refused: z
      .array(z.object({ rule: z.string(), explanation: z.string() }))
      .meta({ description: 'Rules of the contract that do not hold; a run is refused while there are any.' }),
    envelopes: z.object({
      lookedAt: z
        .int()
        .meta({ description: 'Envelopes past the minimum age that were looked at, oldest first.' }),
      complete: z.boolean().meta({ description: 'false: there are more than were looked at.' }),
      wouldPrune: z.int(),
      kept: Counts,
    }),
    receipts: z.object({
      wouldDelete: z.int(),
      complete: z.boolean().meta({ description: 'false: there are more.' }),
    }),
    run: RetentionRun.nullable().meta({ description: 'The run that is under way, or else the last one.' }),
  })
  .meta({ id: 'RetentionPlan' })
export type RetentionPlan = z.infer<typeof RetentionPlan>

export const RunParams = z.object({ runId: z.uuid() })
export const RunBody = ActionBody
