import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { Problem } from '../../../core/problem.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import type { Decided, State } from './contract.ts'
import { decide, freedText, type Verb } from './decide.ts'

export type DecisionRequest = {
  readonly verb: Verb
  readonly id: string
  readonly principal: string
  readonly reason: string
}

/**
 * Decides about one record: the decision, its effect on the record, and who and why, in one transaction.
 * @throws Problem `not-found`; `action-refused` (409), and then nothing is recorded
 */
export const decideAbout = (projection: Pool, request: DecisionRequest): Promise<Decided> =>
  inTransaction(projection, async (client) => {
    const { verb, id, principal, reason } = request
    const record = await lockRecord(client, id)
    if (!record) throw new Problem('not-found', `There is no record ${id} in quarantine.`)
    if (verb === 'redrive' && !record.fed) {
      throw new Problem(
        'action-refused',
        `Generation ${record.generation} of ${record.consumer} is not fed: nothing would try the record again. Records of a generation that is dropped go with it.`,
        { extra: { state: record.state } },
      )
    }
    const decision = decide(verb, record.state)
    if (decision.status === 'refused') {
      throw new Problem('action-refused', decision.explanation, { extra: { state: record.state } })
    }
    const actionId = await recordRequested(client, {
      action: `quarantine.${verb}`,
      target: `quarantine/${id}`,
      principal,
      reason,
      details: { consumer: record.consumer, noteId: record.note_id, revision: record.revision },
    })
    if (decision.status === 'no-effect') {
      const { explanation } = decision
      await recordFinished(client, actionId, {
        status: 'no-effect',
        result: { state: record.state, explanation },
      })
      return { actionId, quarantineId: id, state: record.state, status: 'no-effect', explanation }
    }
    await client.query(
      `UPDATE quarantine.records
       SET state = $2, action_id = $3,
           resolved_at = CASE WHEN $2 = 'discarded' THEN clock_timestamp() END,
           resolution = CASE WHEN $2 = 'discarded' THEN $4 END
       WHERE id = $1`,
      [id, decision.to, actionId, `Discarded: ${reason}`],
    )
    if (decision.to === 'redriving') {
      const { explanation } = decision
      return { actionId, quarantineId: id, state: 'redriving', status: 'requested', explanation }
    }
    if (record.state === 'redriving' && record.action_id) {
      await recordFinished(client, record.action_id, {
        status: 'no-effect',
        result: { state: 'discarded', explanation: 'Discarded before it was tried again.' },
      })
    }
    const freed = record.state === 'held' ? 0 : await countFreed(client, id)
    const explanation = `${decision.explanation}${freedText(freed)}`
    await recordFinished(client, actionId, { status: 'done', result: { state: 'discarded', explanation } })
    return { actionId, quarantineId: id, state: 'discarded', status: 'done', explanation }
  })

type Locked = {
  state: State
  consumer: string
  generation: number
  /** Whether a projector applies records to its generation. */
  fed: boolean
  note_id: string | null
  revision: number | null
  action_id: string | null
}

/** Two operators, or an operator and the projector, decide one after the other. */
async function lockRecord(client: PoolClient, id: string): Promise<Locked | undefined> {
  const { rows } = await client.query<Locked>(
    `SELECT q.state, consumer, generation, note_id, revision, action_id,
       (consumer, generation) IN (SELECT 'catalog', g.generation FROM catalog.generations g WHERE g.state = 'fed'
                                  UNION ALL
                                  SELECT 'audit', g.generation FROM audit.generations g WHERE g.state = 'fed') AS fed
     FROM quarantine.records q WHERE id = $1 FOR UPDATE OF q`,
    [id],
  )
  return rows[0]
}

/** Held records of its note that nothing keeps back any more, after record `id` was discarded. */
async function countFreed(client: PoolClient, id: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count
     FROM quarantine.records AS record
     JOIN quarantine.records AS held USING (consumer, generation, note_id)
     WHERE record.id = $1 AND held.state = 'held'
       AND held.note_order >= record.note_order
       AND NOT EXISTS (
         SELECT FROM quarantine.records AS other
         WHERE other.consumer = held.consumer AND other.generation = held.generation
           AND other.note_id = held.note_id AND other.state IN ('open', 'redriving')
           AND other.note_order <= held.note_order)`,
    [id],
  )
  return rows[0]?.count ?? 0
}
