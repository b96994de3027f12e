import type { Pool } from '../../../core/database.ts'
import type { OpenKey, SeenKey } from './store.ts'

/**
 * The first record of each of these keys that came after it was asked for: in its partition from the offset on
 * that was the end then, marked by Debezium as read anew, with the very bytes of the intent.
 */
export async function findNewRecords(
  projection: Pool,
  topic: string,
  keys: readonly OpenKey[],
): Promise<readonly SeenKey[]> {
  const { rows } = await projection.query<SeenKey>(
    `SELECT DISTINCT ON (k.position) k.position, r.topic, r.partition, r."offset"::text AS "offset",
            r.seen_at AS "seenAt"
     FROM unnest($1::int[], $2::uuid[], $3::bytea[], $4::int[], $5::bigint[])
          AS k(position, event_id, envelope_sha256, partition, first_offset)
     JOIN audit.records r ON r.event_id = k.event_id AND r.value_sha256 = k.envelope_sha256
     WHERE r.topic = $6 AND r.operation = 'r' AND r.partition = k.partition AND r."offset" >= k.first_offset
     ORDER BY k.position, r.incarnation DESC, r."offset"`,
    [
      keys.map(({ position }) => position),
      keys.map(({ eventId }) => eventId),
      keys.map(({ envelopeSha256 }) => envelopeSha256),
      keys.map(({ partition }) => partition),
      keys.map(({ firstOffset }) => firstOffset),
      topic,
    ],
  )
  return rows
}
