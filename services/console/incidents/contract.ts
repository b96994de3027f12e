import { z } from 'zod'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'

const MAX_PAGE = 200

export const IncidentsQuery = z.strictObject({
  since: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' })
    .optional()
    .meta({ description: 'Only what held at or after this time.', example: '2026-01-31T12:00:00Z' }),
  state: z
    .enum(['open', 'closed'])
    .optional()
    .meta({ description: 'open: only what holds now. closed: only what is over.' }),
  alarm: z
    .string()
    .regex(/^[a-z]+(-[a-z]+)*$/, 'must be the code of an alarm')
    .max(100)
    .optional()
    .meta({ description: 'Only incidents of this alarm.', example: 'task-failed' }),
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,17}$/), z.uuid()])).optional(),
  limit: limitParameter(50, MAX_PAGE),
})
export type IncidentsQuery = z.infer<typeof IncidentsQuery>

export const Incident = z
  .object({
    id: z.uuid(),
    relay: z.string().meta({ description: "The replication slot's name." }),
    alarm: z.string(),
    openedAt: z.iso.datetime(),
    alarmedAt: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When it had lasted long enough to be an alarm; null: it has not.' }),
    lastSeenAt: z.iso.datetime(),
    closedAt: z.iso.datetime().nullable().meta({ description: 'null: it holds.' }),
    occurrences: z.int().meta({ description: 'Above 1: it came back soon after it had gone.' }),
    restarts: z.int().meta({ description: 'Restarts of the connector that the watcher asked for.' }),
    firstText: z.string(),
    lastText: z.string(),
    sourceLsn: z
      .string()
      .nullable()
      .meta({ description: 'WAL position that the slot had confirmed when it was opened.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({
    id: 'Incident',
    description: "What was not in order with the relay, from when to when, by the source database's clock.",
  })
export type Incident = z.infer<typeof Incident>

export const IncidentPage = z
  .object({
    incidents: z.array(Incident),
    next: z.string().nullable().meta({ description: 'The next page.' }),
  })
  .meta({ id: 'IncidentPage' })
