import { isTransientDatabaseError } from '../../core/database.ts'
import { KafkaUnavailable } from '../../core/kafka/topics.ts'
import { RegistryUnavailable } from '../../core/registry.ts'

/** The progress row is not where this member thought: another one applied the batch, or an operator moved it. */
export class Misplaced extends Error {
  override name = 'Misplaced'
}

/** The generation is being dropped, or gone: this feed ends within a second. */
export class NotFed extends Error {
  override name = 'NotFed'
}

/** What a failed attempt to apply a batch means. */
export type Failure =
  /** Not now: wait, try the same again. Nothing is quarantined. */
  | { readonly kind: 'away'; readonly what: 'the projection database' | 'the schema registry' | 'Kafka' }
  /** The database is there, but cancelled a statement that ran too long. Wait, with an alarm if it stays so. */
  | { readonly kind: 'slow' }
  /** Wait for the end of the feed. */
  | { readonly kind: 'not-fed' }
  /** Find the position again. */
  | { readonly kind: 'misplaced' }
  /** The database refuses the data of some record in the batch, now and always. */
  | { readonly kind: 'rejected'; readonly sqlState: string; readonly message: string }
  /** Missing grants or tables, full indexes, our own bugs: no record is to blame. Wait, with an alarm. */
  | { readonly kind: 'unexpected' }

/** 22 data exception, 23 integrity constraint, 54 program limit (an index row too large). */
const DATA_CLASSES = new Set(['22', '23', '54'])

const QUERY_CANCELED = '57014' // statement_timeout, or a person

/** Constraints that no record can break: only a wrong programme or a moved progress row. */
const GUARDS = new Set(['notes_revision_never_goes_back', 'progress_never_decreases'])
const FOREIGN_KEY_VIOLATION = '23503' // on catalog.generations: the generation is gone

export function failureOf(error: unknown): Failure {
  if (error instanceof Misplaced) return { kind: 'misplaced' }
  if (error instanceof NotFed) return { kind: 'not-fed' }
  if (error instanceof RegistryUnavailable) return { kind: 'away', what: 'the schema registry' }
  if (error instanceof KafkaUnavailable) return { kind: 'away', what: 'Kafka' }
  if ((error as { code?: unknown }).code === QUERY_CANCELED) return { kind: 'slow' }
  if (isTransientDatabaseError(error)) return { kind: 'away', what: 'the projection database' }
  const { code, constraint, message } = error as { code?: unknown; constraint?: unknown; message?: unknown }
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return { kind: 'unexpected' }
  if (typeof constraint === 'string' && GUARDS.has(constraint)) return { kind: 'unexpected' }
  if (!DATA_CLASSES.has(code.slice(0, 2)) || code === FOREIGN_KEY_VIOLATION) return { kind: 'unexpected' }
  return { kind: 'rejected', sqlState: code, message: String(message) }
}
