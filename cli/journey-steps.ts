import { CONFIRMED_BY } from './confirmed-by.ts'
import type { Journey } from './journey.ts'
import { columns } from './output.ts'

export type Step = {
  readonly name: string
  readonly at: string | null
  /** Whether `at` is when the step was taken, or only when somebody looked and it had been. */
  readonly timeIs: 'of-step' | 'of-observation'
  readonly what: string
  readonly readFrom: string
}

/**
 * The steps that are known, in the order a revision takes them; the two consumers, which do not wait for
 * each other, by time. The time of `visible` is the step's own only to who has been asking all the while.
 */
export function stepsOf(journey: Journey): Step[] {
  const { committed, confirmed, kafka, audit, catalog, visible } = journey
  const steps: Step[] = []
  if (committed) {
    const hasIntent = journey.eventId !== null
    const what = hasIntent
      ? `saved with its publication intent, event ${journey.eventId}`
      : 'written around the write API, without publication intent: nothing publishes it'
    steps.push({
      name: hasIntent ? 'accepted' : 'saved',
      at: committed.at,
      timeIs: 'of-step',
      what,
      readFrom: committed.readFrom,
    })
  }
  if (kafka) {
    const copies = kafka.records > 1 ? `, first of ${kafka.records} records` : ''
    const what = `topic ${kafka.topic}, partition ${kafka.partition}, offset ${kafka.offset}${copies}`
    steps.push({
      name: 'in Kafka',
      at: kafka.brokerTime,
      timeIs: 'of-step',
      what,
      readFrom: kafka.readFrom,
    })
  }
  steps.push(...consumerSteps({ audit, catalog }))
  if (confirmed) {
    steps.push({
      name: 'confirmed',
      at: confirmed.observedAt,
      timeIs: 'of-observation',
      what: CONFIRMED_BY[confirmed.evidence],
      readFrom: confirmed.readFrom,
    })
  }
  if (visible) {
    const what = {
      public: 'the read API shows it',
      withdrawn: 'the read API answers 410 Gone',
      superseded: `the read API shows a newer one, revision ${visible.shownRevision}`,
    }[visible.as]
    steps.push({ name: 'visible', at: visible.at, timeIs: 'of-step', what, readFrom: visible.readFrom })
  }
  return steps
}

function consumerSteps({ audit, catalog }: Pick<Journey, 'audit' | 'catalog'>): Step[] {
  const steps: (Step & { readonly at: string })[] = []
  if (audit) {
    const what = 'recorded by consumer audit'
    steps.push({ name: 'audit', at: audit.seenAt, timeIs: 'of-step', what, readFrom: audit.readFrom })
  }
  if (catalog) {
    const what = 'applied by consumer catalog'
    steps.push({
      name: 'catalog',
      at: catalog.appliedAt,
      timeIs: 'of-step',
      what,
      readFrom: catalog.readFrom,
    })
  }
  return steps.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

/** A step that had been taken already when somebody first looked. */
export const asObserved = (step: Step): Step => ({ ...step, timeIs: 'of-observation' })

/**
 * One line a step: time, milliseconds since the commit, what happened, who says so. A time of observation
 * has no such milliseconds: they would say how late somebody looked.
 */
export function stepRow(step: Step, committedAt: string | null): string[] {
  const known = step.at !== null && committedAt !== null && step.timeIs === 'of-step'
  const ms = known ? Date.parse(step.at) - Date.parse(committedAt) : undefined
  return [
    step.name,
    timeText(step),
    ms === undefined ? '' : `${ms < 0 ? '' : '+'}${ms} ms`,
    step.what,
    `[${step.readFrom}]`,
  ]
}

function timeText({ at, timeIs }: Step): string {
  if (at === null) return 'time unknown'
  return timeIs === 'of-step' ? at : `known at ${at}`
}

export const journeyLines = (journey: Journey): string[] => [
  `${journey.noteId}:${journey.revision}`,
  ...columns(
    stepsOf(journey)
      .map((step) => (step.name === 'visible' ? asObserved(step) : step))
      .map((step) => stepRow(step, journey.committed?.at ?? null)),
  ),
  ...journey.gaps.map(({ step, why }) => `not known: ${step}: ${why}`),
]
