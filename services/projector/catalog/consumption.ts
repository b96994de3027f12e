import type { EnvelopeDecoder } from '../../../core/envelope-decoder.ts'
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
  apply: async (client, _place, batch) => {
    const admitted = batch.filter(isAdmitted)
    const candidates = candidatesOf(admitted)
    const entered = await enterInbox(client, generation, candidates)
    // Normally all are new. Only if not: what was there before?
    const before =
      entered === candidates.length ? [] : await inboxEntriesBefore(client, generation, candidates)
    const settled =
      entered === admitted.length ? admitted.map(() => 'fresh' as const) : settle(admitted, before)
    const fresh = admitted.filter((_, index) => settled[index] === 'fresh')
    const moved = await upsertNotes(client, generation, newestPerNote(fresh))
    return outcomesInOrder(batch, settled, fresh, outcomesOfFresh(fresh, moved))
  },
})

function outcomesInOrder(
  batch: readonly DecodedRecord[],
  settled: ReturnType<typeof settle>,
  fresh: readonly Admitted[],
  freshOutcomes: readonly ('applied' | 'stale')[],
): Outcome[] {
  const ofFresh = new Map(fresh.map((item, index) => [item.record, freshOutcomes[index] ?? 'applied']))
  let next = 0
  return batch.map((item): Outcome => {
    if (item.status === 'refused') return { status: 'quarantined', ...item.refusal }
    const verdict = settled[next++]
    if (verdict === 'duplicate') return { status: 'duplicate' }
    if (typeof verdict === 'object') return { status: 'quarantined', ...verdict }
    return { status: ofFresh.get(item.record) ?? 'applied' }
  })
}
