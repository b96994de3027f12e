import { isTransientDatabaseError, type Pool } from '../../../core/database.ts'
import type { ConsumerResult } from './contract.ts'
import { catalogResult, type RecordFacts, resultOf } from './decide.ts'

/** Where the new record of a key lies. */
export type Place = {
  readonly position: number
  readonly eventId: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
}

type Row = RecordFacts & {
  readonly position: number
  readonly generation: number
  readonly live: boolean
}

/** What audit and every fed generation of catalog did with these records, by position. */
export async function consumerResults(
  projection: Pool,
  places: readonly Place[],
): Promise<ReadonlyMap<number, readonly ConsumerResult[]>> {
  const results = new Map(places.map(({ position }) => [position, [AUDIT]]))
  if (places.length === 0) return results
  try {
    for (const row of await readRows(projection, places)) {
      results.get(row.position)?.push(resultOf('catalog', row.generation, row.live, catalogResult(row)))
    }
  } catch (error) {
    if (!isTransientDatabaseError(error)) throw error
    const away = 'The projection database does not answer.'
    for (const known of results.values()) known.push(resultOf('catalog', 0, true, 'unknown', away))
  }
  return results
}

/** A record counts as seen once audit has entered it: there is nothing else to ask. */
const AUDIT = resultOf('audit', 1, true, 'applied', 'The record is a row of the ledger.')

async function readRows(projection: Pool, places: readonly Place[]): Promise<readonly Row[]> {
  const { rows } = await projection.query<Row>(
    `SELECT place.position, g.generation, g.generation = live.generation AS live,
            coalesce(progress.next_offset > place."offset", false) AS passed,
            irregular.kind AS irregular,
            CASE WHEN q.id IS NOT NULL THEN jsonb_build_object('state', q.state, 'reason', q.reason) END AS quarantine,
            EXISTS (SELECT FROM catalog.inbox i
                    WHERE i.generation = g.generation AND i.event_id = place.event_id) AS "inInbox"
     FROM unnest($1::int[], $2::uuid[], $3::text[], $4::int[], $5::bigint[])
          AS place (position, event_id, topic, partition, "offset")
     JOIN LATERAL (SELECT max(incarnation) AS incarnation FROM audit.records r
                   WHERE r.event_id = place.event_id AND r.topic = place.topic
                     AND r.partition = place.partition AND r."offset" = place."offset") record ON true
     CROSS JOIN catalog.live_generation live
     JOIN catalog.generations g ON g.state = 'fed'
     LEFT JOIN catalog.progress progress
       ON progress.generation = g.generation AND progress.topic = place.topic
      AND progress.partition = place.partition AND progress.incarnation = record.incarnation
     LEFT JOIN catalog.irregular_records irregular
       ON irregular.generation = g.generation AND irregular.topic = place.topic
      AND irregular.partition = place.partition AND irregular."offset" = place."offset"
      AND irregular.incarnation = record.incarnation
     LEFT JOIN quarantine.records q
       ON q.consumer = 'catalog' AND q.generation = g.generation AND q.topic = place.topic
      AND q.partition = place.partition AND q."offset" = place."offset" AND q.incarnation = record.incarnation
     ORDER BY place.position, g.generation`,
    [
      places.map(({ position }) => position),
      places.map(({ eventId }) => eventId),
      places.map(({ topic }) => topic),
      places.map(({ partition }) => partition),
      places.map(({ offset }) => offset),
    ],
  )
  return rows
}
