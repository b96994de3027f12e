import { z } from 'zod'
import { NoteId, Revision } from '../../../core/note.ts'
import { cursorParameter, limitParameter } from '../../../core/pages.ts'
import { Verdict } from './contract.ts'
import { keysOf, STATES } from './vocabulary.ts'

const { unknown: _never, ...LISTED } = STATES
export const LISTED_STATES = keysOf(LISTED)
export type ListedState = (typeof LISTED_STATES)[number]

const UNIT_SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

const OlderThan = z
  .string()
  .regex(/^[1-9][0-9]{0,5}[smhd]$/, 'must be a duration such as 30s, 10m, 12h or 7d')
  .meta({
    description:
      'Only those that are older: since the commit; for projection-current since the catalog applied it.',
    example: '10s',
  })

/** In seconds. */
export const secondsOf = (duration: string): number =>
  Number(duration.slice(0, -1)) * UNIT_SECONDS[duration.at(-1) as keyof typeof UNIT_SECONDS]

export const PublicationsQuery = z
  .strictObject({
    state: z.enum(LISTED_STATES, { error: `must be one of ${LISTED_STATES.join(', ')}` }),
    olderThan: OlderThan.optional(),
    consumer: z.enum(['catalog', 'audit']).default('catalog').meta({
      description:
        'Whose view: with audit, intent-relayed means that the broker has it and audit has no record of it. The states projection-current and superseded are of catalog only.',
    }),
    after: cursorParameter(z.array(z.string().max(249)).min(1).max(5)).optional(),
    limit: limitParameter(50, 100),
  })
  .refine(
    ({ state, consumer }) =>
      consumer === 'catalog' || (state !== 'projection-current' && state !== 'superseded'),
    { path: ['consumer'], message: 'must be catalog for this state: audit keeps every record' },
  )
export type PublicationsQuery = z.infer<typeof PublicationsQuery>

export const ListedPublication = z
  .object({
    noteId: NoteId,
    revision: Revision,
    eventId: z.uuid().nullable(),
    ...Verdict.omit({ explanation: true }).shape,
    since: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'What olderThan compares with; null: not known.' }),
  })
  .meta({ id: 'ListedPublication' })
export type ListedPublication = z.infer<typeof ListedPublication>

export const PublicationPage = z
  .object({
    publications: z.array(ListedPublication),
    examined: z.int().min(0).meta({ description: 'Index entries looked at for this page; that is limited.' }),
    unknown: z.int().min(0).meta({
      description: 'Of those, how many have a state that cannot be known now: a part did not answer.',
    }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'The next page; a page may be empty and have one. null: that was all.' }),
  })
  .meta({ id: 'PublicationPage' })
export type PublicationPage = z.infer<typeof PublicationPage>
