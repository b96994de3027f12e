import type { Journey } from './journey.ts'
import { columns } from './output.ts'

export type Step = {
  readonly name: string
  readonly at: string | null
  readonly what: string
  readonly readFrom: string
}

/** The steps that are known, in the order a revision takes them. */
export function stepsOf(journey: Journey): Step[] {
  const { committed, confirmed, kafka, audit, catalog, visible } = journey
  const steps: Step[] = []
  if (committed) {
    const what = `saved with its publication intent${journey.eventId ? `, event ${journey.eventId}` : ''}`
    steps.push({ name: 'accepted', at: committed.at, what, readFrom: committed.readFrom })
  }
  if (kafka) {
    const copies = kafka.records > 1 ? `, first of ${kafka.records} records` : ''
    const what = `topic ${kafka.topic}, partition ${kafka.partition}, offset ${kafka.offset}${copies}`
    steps.push({ name: 'in Kafka', at: kafka.brokerTime, what, readFrom: kafka.readFrom })
  }
  if (audit)
    steps.push({
      name: 'audit',
      at: audit.seenAt,
      what: 'recorded by consumer audit',
      readFrom: audit.readFrom,
    })
  if (catalog) {
    const what = 'applied by consumer catalog'
    steps.push({ name: 'catalog', at: catalog.appliedAt, what, readFrom: catalog.readFrom })
  }
  if (confirmed) {
    const what = 'the slot has passed the commit: the broker has it'
    steps.push({ name: 'confirmed', at: confirmed.at, what, readFrom: confirmed.readFrom })
  }
  if (visible) {
    const what = {
      public: 'the read API shows it (time of asking)',
      withdrawn: 'the read API answers 410 Gone (time of asking)',
      superseded: `the read API shows a newer one, revision ${visible.shownRevision} (time of asking)`,
    }[visible.as]
    steps.push({ name: 'visible', at: visible.at, what, readFrom: visible.readFrom })
  }
  return steps
}

/** One line a step: time, milliseconds since the commit, what happened, who says so. */
export function stepRow(step: Step, committedAt: string | null): string[] {
  const since = step.at && committedAt ? `${Date.parse(step.at) - Date.parse(committedAt)} ms` : ''
  return [
    step.name,
    step.at ?? 'time unknown',
    since.startsWith('-') ? since : `+${since}`,
    step.what,
    `[${step.readFrom}]`,
  ]
}

export const journeyLines = (journey: Journey): string[] => [
  `${journey.noteId}:${journey.revision}`,
  ...columns(stepsOf(journey).map((step) => stepRow(step, journey.committed?.at ?? null))),
  ...journey.gaps.map(({ step, why }) => `not known: ${step}: ${why}`),
]
