import { z } from 'zod'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'

/** The two places where actions are recorded: that of their effect. */
export const DATABASES = ['source', 'projection'] as const
export const ActionDatabase = z.enum(DATABASES)
export type ActionDatabase = z.infer<typeof ActionDatabase>

/** Every action there is, by its stable name. */
export const ACTION_NAMES = [
  'quarantine.redrive',
  'quarantine.discard',
  'positions.accept',
  'gaps.close',
  'relay.accept-topic',
  'relay.recover',
  'relay.replay',
  'relay.cancel-replay',
  'intents.create',
  'notes.erase',
  'rebuild.begin',
  'rebuild.switch',
  'rebuild.rollback',
  'rebuild.drop',
  'retention.run',
] as const
export type ActionName = (typeof ACTION_NAMES)[number]

const MAX_PAGE = 200

export const ActionsQuery = z.strictObject({
  database: ActionDatabase.optional().meta({
    description: 'Only the actions recorded there. With it, the other database may be away.',
  }),
  action: z
    .enum(ACTION_NAMES, { error: `must be one of ${ACTION_NAMES.join(', ')}` })
    .optional()
    .meta({ description: 'Only actions of this name.', example: 'quarantine.redrive' }),
  target: z
    .string()
    .max(1_000)
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must not hold U+0000')
    .optional()
    .meta({ description: 'Only actions on exactly this.' }),
  after: cursorParameter(z.tuple([z.string().regex(/^\d{1,17}$/), z.uuid()])).optional(),
  limit: limitParameter(50, MAX_PAGE),
})
export type ActionsQuery = z.infer<typeof ActionsQuery>

export const ActionParams = z.object({ actionId: z.uuid() })

export const Action = z
  .object({
    id: z.uuid(),
    database: ActionDatabase,
    action: z.string(),
    target: z.string(),
    principal: z.string().meta({ description: 'Issuer and subject of the token.' }),
    reason: z.string(),
    details: z.record(z.string(), z.unknown()),
    requestedAt: z.iso.datetime(),
    status: z.enum(['requested', 'done', 'no-effect', 'failed']),
    result: z.record(z.string(), z.unknown()).nullable().meta({ description: 'null until it is finished.' }),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Action', description: 'What an operator did: who, why, and what came of it.' })
export type Action = z.infer<typeof Action>

export const ActionPage = z
  .object({ actions: z.array(Action), next: z.string().nullable().meta({ description: 'The next page.' }) })
  .meta({ id: 'ActionPage' })
export type ActionPage = z.infer<typeof ActionPage>
