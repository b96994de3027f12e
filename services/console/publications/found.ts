import type { Found, Gap } from './contract.ts'
import type { SourceFacts } from './source-facts.ts'

/** Values with where they were read, and the gaps that many fields share. */
export const atSource = <T>(source: SourceFacts, value: T): Found<T> => ({
  value,
  source: 'source',
  readAt: source.readAt.toISOString(),
})
export const atProjection = <T>(readAt: Date, value: T): Found<T> => ({
  value,
  source: 'projection',
  readAt: readAt.toISOString(),
})
export const SOURCE_DOWN: Gap = { gap: 'source-down', explanation: 'The source database did not answer.' }
export const PROJECTION_DOWN: Gap = {
  gap: 'projection-down',
  explanation: 'The projection database did not answer.',
}
export const NO_INTENT: Gap = { gap: 'no-intent', explanation: 'The revision has no publication intent.' }
export const NO_REVISION: Gap = {
  gap: 'never-recorded',
  explanation: 'The source answered and does not have this revision.',
}
