import { z } from 'zod'
import { ActionBody } from '../action-request.ts'

/** What there is to recover from. */
export const SITUATIONS = {
  'slot-unrecorded': 'The setup has recorded no replication slot yet.',
  'slot-missing': 'The replication slot does not exist.',
  'slot-lost': 'PostgreSQL has removed WAL that the replication slot still needed.',
  'slot-foreign': 'The replication slot is another one than was recorded: somebody made it anew.',
  'slot-mismatch':
    'The replication slot is past what the connector has read: its task has failed and fails again at every start.',
  'revisions-skipped': 'The slot is in order, but the relay went past revisions that no consumer has seen.',
  'in-order': 'The slot is the recorded one, and no revision is known to be missing.',
} as const
export type Situation = keyof typeof SITUATIONS
const SituationName = z.enum(Object.keys(SITUATIONS) as [Situation, ...Situation[]])

/** In this order; each can be done again after it was cut off. */
export const STEPS = {
  'stop-connector': 'Stop the connector, so that nobody reads the slot.',
  'make-slot': 'Drop the slot, if there is one, make it anew and record it as a new incarnation.',
  'reset-offsets': 'Delete the position the connector has stored for the old slot.',
  'resume-connector': 'Start the connector, and wait until it reads the new slot.',
  replay:
    'Replay every revision that has an intent from before and no record, oldest first, until each has one.',
} as const
export type StepName = keyof typeof STEPS
const Step = z.enum(Object.keys(STEPS) as [StepName, ...StepName[]])

const Key = z.object({ noteId: z.string(), revision: z.int(), eventId: z.uuid() })
export type Key = z.infer<typeof Key>

export const Recovery = z
  .object({
    id: z.uuid().meta({ description: 'Also the id of the recorded action.' }),
    situation: SituationName.meta({ description: 'What there was to recover from when it began.' }),
    status: z.enum(['running', 'finished']),
    step: Step.nullable().meta({
      description:
        'The step to do next or again; null when it is finished. It goes back to the first when the slot is lost or moved meanwhile.',
    }),
    waitsFor: z
      .string()
      .nullable()
      .meta({ description: 'Why the step is not done yet. It is tried again without being asked.' }),
    incarnation: z
      .int()
      .nullable()
      .meta({ description: 'Of the newest slot it made, once that is recorded.' }),
    replayed: z
      .int()
      .meta({ description: 'Revisions whose record was seen after this recovery replayed them.' }),
    startedAt: z.iso.datetime(),
    changedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Recovery' })
export type Recovery = z.infer<typeof Recovery>

export const RecoveryPlan = z
  .object({
    situation: SituationName,
    explanation: z.string(),
    slot: z.object({
      name: z.string(),
      exists: z.boolean(),
      active: z.boolean(),
      walStatus: z.string().nullable(),
      incarnation: z.int().nullable().meta({ description: 'The newest on record.' }),
      confirmedLsn: z.string().nullable(),
    }),
    connector: z
      .string()
      .meta({ description: 'State of the connector and its tasks, or why it is not known.' }),
    missing: z
      .object({
        count: z.int(),
        keys: z.array(Key).meta({ description: 'The oldest of them, at most 100.' }),
        auditHasRead: z.boolean().nullable().meta({
          description:
            'Has the audit consumer read the topic to its end? If not, some of these may only not have been seen yet. null: Kafka does not answer.',
        }),
      })
      .meta({
        description: 'Intents that the relay will not bring by itself and that no record was seen of.',
      }),
    steps: z.array(z.object({ step: Step, what: z.string() })),
    refused: z
      .string()
      .nullable()
      .meta({ description: 'Why it is not done unless it is forced; null: it is done when asked for.' }),
    recovery: Recovery.nullable().meta({ description: 'The one that is running, or else the last one.' }),
  })
  .meta({ id: 'RecoveryPlan' })
export type RecoveryPlan = z.infer<typeof RecoveryPlan>

export const RecoveryBody = ActionBody.extend({
  force: z
    .boolean()
    .default(false)
    .meta({ description: 'Make the slot anew although it is in order. What it holds is replayed.' }),
})
/** Of the plan: a query has only text. */
export const PlanQuery = z.strictObject({
  force: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'true: what would be done if it were forced.' }),
})
export const RecoveryParams = z.object({ recoveryId: z.uuid() })
