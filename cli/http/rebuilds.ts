import { z } from 'zod'

export const RebuildShape = z.looseObject({
  id: z.string(),
  consumer: z.enum(['catalog', 'audit']),
  generation: z.int(),
  beside: z.int(),
  liveGeneration: z.int().nullable(),
  from: z.string(),
  status: z.string(),
  problem: z.string().nullable(),
  notes: z.array(z.string()),
  seeding: z.object({ done: z.int(), of: z.int().nullable() }).nullable(),
  partitions: z.array(
    z.object({
      partition: z.int(),
      start: z.int(),
      nextOffset: z.int().nullable(),
      endOffset: z.int().nullable(),
    }),
  ),
  remaining: z.int().nullable(),
  perSecond: z.number().nullable(),
  etaSeconds: z.int().nullable(),
  createdAt: z.string(),
  changedAt: z.string(),
  reason: z.string(),
})
export type Rebuild = z.infer<typeof RebuildShape>

/** A page of `/rebuilds`. */
export const REBUILDS = z
  .object({ rebuilds: z.array(RebuildShape), next: z.string().nullable() })
  .transform(({ rebuilds, next }) => ({ entries: rebuilds, next }))

export const RebuildPlan = z.looseObject({
  consumer: z.string(),
  from: z.string(),
  partitions: z.array(
    z.object({
      partition: z.int(),
      start: z.int(),
      earliest: z.int(),
      end: z.int(),
      toRead: z.int(),
    }),
  ),
  toRead: z.int(),
  toSeed: z.int().nullable(),
  cannotContain: z.array(z.string()),
  refused: z.string().nullable(),
})
export type RebuildPlan = z.infer<typeof RebuildPlan>

export const Switched = z.looseObject({
  actionId: z.string(),
  from: z.int(),
  to: z.int(),
  comparedNotes: z.int(),
  explained: z.record(z.string(), z.int()),
  heldMs: z.number(),
  rebuild: RebuildShape,
})
export type Switched = z.infer<typeof Switched>
