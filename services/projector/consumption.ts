import type { PoolClient } from '../../core/database.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import type { NoteEvent } from '../../core/note.ts'
import type { Outcome } from './decide.ts'
import type { ConsumerName, LivePlace } from './place.ts'

/** A record on its way, with its event when it could be decoded. */
export type Prepared = { readonly record: KafkaRecord; readonly event?: NoteEvent }

/**
 * What a consumer does with the records of a note after one that it cannot apply: go on with newer revisions,
 * or keep them back, durably, until a person has decided about that one, and then apply them in order.
 */
export type AfterQuarantine = 'continue' | 'hold'

/**
 * What makes one consumer differ from another: how it reads records and what their effects are. Everything
 * else (positions, transactions, progress, quarantine, waiting) is the same for all.
 */
export type Consumption<P extends Prepared = Prepared> = {
  readonly name: ConsumerName
  readonly generation: number
  /** Default `continue`. */
  readonly afterQuarantine?: AfterQuarantine
  /** @throws RegistryUnavailable when it cannot be done now */
  readonly prepare: (records: readonly KafkaRecord[]) => Promise<readonly P[]>
  /** Writes the effects inside the caller's transaction; what became of each record, in order. */
  readonly apply: (client: PoolClient, place: LivePlace, batch: readonly P[]) => Promise<readonly Outcome[]>
}
