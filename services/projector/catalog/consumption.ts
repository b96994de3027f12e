import type { EnvelopeDecoder } from '../../../core/envelope-decoder.ts'
import { ERASED_DIGEST } from '../../../core/erasures.ts'
import type { KafkaRecord } from '../../../core/kafka/consumer.ts'
import type { Consumption } from '../consumption.ts'
import {
  type Admitted,
  candidatesOf,
  newestPerNote,
  type Outcome,
  outcomesOfFresh,
  settle,
} from '../decide.ts'
import { type DecodedRecord, decodeAll } from '../decode.ts'
import { erasedOf, isErased, movedFromErased } from '../erased.ts'
import { followRevisions, type Irregular } from '../gaps.ts'
import type { Run } from '../runs.ts'
import { closeGaps, openGaps, recordIrregular } from './gaps-sql.ts'
import { enterInbox, inboxEntriesBefore, upsertNotes } from './sql.ts'

const isAdmitted = (item: DecodedRecord): item is DecodedRecord & { status: 'admitted' } =>
  item.status === 'admitted'

/** The public read model: every event once, every note at its highest revision. */
export const catalogConsumption = (
  decoder: EnvelopeDecoder,
  generation: number,
): Consumption<DecodedRecord> => ({
  name: 'catalog',
  generation,
  prepare: (records) => decodeAll(records, decoder),
  apply: async (client, place, batch) => {
    const erased = await erasedOf(client, batch)
    const gone = new Set(batch.filter((item) => isErased(item, erased)))
    // That it came is known for ever, so that it counts as seen; what it held is not.
    const withoutContent = [...gone]
      .filter(isAdmitted)
      .map((item) => ({ ...item, contentDigest: ERASED_DIGEST }))
    await enterInbox(client, generation, candidatesOf(withoutContent))
    const admitted = batch.filter(isAdmitted).filter((item) => !gone.has(item))
    const candidates = candidatesOf(admitted)
    const entered = await enterInbox(client, generation, candidates)
    // Normally all are new. Only if not: what was there before?
    const before =
      entered.size === candidates.length
        ? []
        : await inboxEntriesBefore(client, generation, candidates, entered)
    const settled =
      entered.size === admitted.length ? admitted.map(() => 'fresh' as const) : settle(admitted, before)
    const fresh = admitted.filter((_, index) => settled[index] === 'fresh')
    const moved = movedFromErased(await upsertNotes(client, generation, newestPerNote(fresh)), erased)
    // Normally every revision is the next one of its note: then none of these asks the database anything.
    const { opened, late, irregular } = followRevisions(fresh, moved)
    await openGaps(client, place, opened)
    await closeGaps(
      client,
      generation,
      late.map(({ event }) => ({ ...event, how: 'arrived' })),
    )
    await recordIrregular(client, place, [...irregular, ...duplicatesOf(admitted, settled)])
    const ahead = new Map(opened.map(({ openedBy, first, last }) => [openedBy.record, { first, last }]))
    return outcomesInOrder(batch, gone, settled, fresh, outcomesOfFresh(fresh, moved), ahead)
  },
})

const duplicatesOf = (admitted: readonly Admitted[], settled: ReturnType<typeof settle>): Irregular[] =>
  admitted
    .filter((_, index) => settled[index] === 'duplicate')
    .map((item) => ({ item, kind: 'duplicate', nextRevision: null }))

function outcomesInOrder(
  batch: readonly DecodedRecord[],
  gone: ReadonlySet<DecodedRecord>,
  settled: ReturnType<typeof settle>,
  fresh: readonly Admitted[],
  freshOutcomes: readonly ('applied' | 'stale')[],
  missingBefore: ReadonlyMap<KafkaRecord, Run>,
): Outcome[] {
  const ofFresh = new Map(fresh.map((item, index) => [item.record, freshOutcomes[index] ?? 'applied']))
  let next = 0
  return batch.map((item): Outcome => {
    if (gone.has(item)) return { status: 'erased' }
    if (item.status === 'refused') return { status: 'quarantined', ...item.refusal }
    const verdict = settled[next++]
    if (verdict === 'duplicate') return { status: 'duplicate' }
    if (typeof verdict === 'object') return { status: 'quarantined', ...verdict }
    const status = ofFresh.get(item.record) ?? 'applied'
    const missing = missingBefore.get(item.record)
    return status === 'applied' && missing ? { status, missingBefore: missing } : { status }
  })
}
