import { z } from 'zod'
import { CliFailure } from '../failure.ts'
import type { ConsoleApi } from './console.ts'

/** What of each answer this tool uses; more may be there. */
const Entry = z.looseObject({
  id: z.string(),
  consumer: z.string(),
  generation: z.int(),
  state: z.string(),
  reason: z.string(),
  explanation: z.string(),
  noteId: z.string().nullable(),
  revision: z.int().nullable(),
  eventId: z.string().nullable(),
  topic: z.string(),
  incarnation: z.int(),
  partition: z.int(),
  offset: z.string(),
  attempts: z.int(),
  firstAt: z.string(),
  lastAt: z.string(),
  heldBy: z.string().nullable(),
  resolution: z.string().nullable(),
  actionId: z.string().nullable(),
})
export type QuarantineEntry = z.infer<typeof Entry>

const Page = z
  .object({ records: z.array(Entry), next: z.string().nullable() })
  .transform(({ records, next }) => ({ entries: records, next }))

const Whole = z.looseObject({
  ...Entry.shape,
  brokerTime: z.string(),
  key: z.base64().nullable(),
  value: z.base64().nullable(),
  headers: z.array(z.tuple([z.string(), z.base64().nullable()])),
  holds: z.int(),
})
export type WholeQuarantined = z.infer<typeof Whole>

const Decided = z.looseObject({
  actionId: z.string(),
  quarantineId: z.string(),
  state: z.string(),
  status: z.enum(['requested', 'done', 'no-effect']),
  explanation: z.string(),
})
export type Decided = z.infer<typeof Decided>

const Action = z.looseObject({
  status: z.enum(['requested', 'done', 'no-effect', 'failed']),
  result: z
    .looseObject({ state: z.string(), explanation: z.string(), reason: z.string().optional() })
    .nullable(),
})
export type RedriveResult = z.infer<typeof Action>

export type QuarantineFilters = {
  readonly consumer?: string
  readonly generation?: number
  readonly note?: string
  readonly reason?: string
  readonly state?: string
}

const PAGE = 200

export const listQuarantine = (
  api: ConsoleApi,
  { note, generation, ...filters }: QuarantineFilters,
  limit: number,
): AsyncGenerator<QuarantineEntry> => {
  const query = new URLSearchParams({
    ...filters,
    ...(note !== undefined && { noteId: note }),
    ...(generation !== undefined && { generation: String(generation) }),
    limit: String(Math.min(limit, PAGE)),
  })
  return api.pages(`/quarantine?${query}`, Page, 'The list of quarantined records', limit)
}

const absent = (id: string): CliFailure =>
  new CliFailure(
    'not-found',
    `There is no record ${id} in quarantine. bin/notesctl quarantine list shows them.`,
  )

export async function showQuarantined(api: ConsoleApi, id: string): Promise<WholeQuarantined> {
  const found = await api.look(`/quarantine/${id}`, Whole, 'The quarantined record')
  if (!found) throw absent(id)
  return found
}

export async function decideAbout(
  api: ConsoleApi,
  verb: 'redrive' | 'discard',
  id: string,
  reason: string,
): Promise<Decided> {
  const decided = await api.act(
    `/quarantine/${id}/${verb}`,
    { reason },
    Decided,
    `The ${verb} of record ${id}`,
  )
  if (!decided) throw absent(id)
  return decided
}

export async function resultOf(api: ConsoleApi, actionId: string): Promise<RedriveResult> {
  const action = await api.look(`/actions/${actionId}`, Action, 'The recorded action')
  if (!action) throw new CliFailure('failed', `The action ${actionId} is not recorded any more.`)
  return action
}
