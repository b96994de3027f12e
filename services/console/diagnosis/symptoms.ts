import type { Symptom } from './contract.ts'

/** The heading in docs/runbook.md that says what a symptom means, what to run and how to know that it worked. */
export const RUNBOOK: Readonly<Record<Symptom, string>> = {
  'part-away': 'A part does not answer',
  'relay-not-in-order': 'Alarms of the relay',
  'note-without-intent': 'A note without an intent',
  'intent-pending': 'An intent stays pending',
  'relayed-not-applied': 'Kafka has it, readers do not',
  'visible-twice': 'One revision is visible twice',
  'revision-never-seen': 'A revision is missing',
  'stale-public-read': 'Readers see an old text',
  'not-canonical': 'What is missing',
  pruned: 'An envelope was pruned',
  erased: 'Erase a note',
}

/** Words that every answer of a diagnosis uses for the same thing. */
export const seconds = (value: number): string =>
  value < 120 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`
