import { z } from 'zod'
import type { ConsoleApi } from './console.ts'

/** What of each answer this tool uses; more may be there. */
const Result = z.looseObject({
  equal: z.boolean(),
  complete: z.boolean(),
  counts: z.record(z.string(), z.int()),
  inFlight: z.int(),
  compared: z.looseObject({
    notes: z.int(),
    revisions: z.int(),
    intents: z.int(),
    recordedEvents: z.int(),
    appliedEvents: z.int(),
    catalogNotes: z.int(),
  }),
  ranges: z.looseObject({ all: z.int(), opened: z.int() }),
  comparingMs: z.number(),
  waitedMs: z.number(),
  snapshots: z.looseObject({
    source: z.looseObject({ snapshot: z.string(), at: z.string() }),
    projection: z.looseObject({ snapshot: z.string(), at: z.string() }),
  }),
})
export type VerificationResult = z.infer<typeof Result>

export const Verification = z.looseObject({
  id: z.string(),
  status: z.enum(['running', 'done', 'failed']),
  failure: z.string().nullable(),
  result: Result.nullable(),
})

const Difference = z.looseObject({
  class: z.string(),
  noteId: z.string().nullable(),
  revision: z.int().nullable(),
  projectionRevision: z.int().nullable(),
  eventId: z.string().nullable(),
  because: z.string().nullable(),
  committedAt: z.string().nullable(),
})
export type Difference = z.infer<typeof Difference>

export const DifferencePage = z
  .object({ differences: z.array(Difference), next: z.string().nullable() })
  .transform(({ differences, next }) => ({ entries: differences, next }))

export async function startVerification(
  api: ConsoleApi,
  scope: { readonly noteId?: string; readonly deep: boolean },
): Promise<z.infer<typeof Verification>> {
  const started = await api.act(
    '/verifications',
    scope,
    Verification,
    'The verification',
    'A verification changes nothing.',
  )
  if (!started) throw new Error('the operator API has no /verifications')
  return started
}
