import type { Pool } from '../../core/database.ts'
import type { GenerationRow } from './which-feeds.ts'

type Row = GenerationRow & { catalogLive: number | null }

/** Every generation of every consumer, and which one of catalog readers see, of one moment. */
export async function readGenerations(
  pool: Pool,
): Promise<{ readonly generations: readonly GenerationRow[]; readonly catalogLive: number }> {
  const { rows } = await pool.query<Row>({
    name: 'generations',
    text: `SELECT all_of_them.*, (SELECT generation FROM catalog.live_generation) AS "catalogLive"
           FROM (SELECT 'catalog' AS consumer, generation, state FROM catalog.generations
                 UNION ALL
                 SELECT 'audit', generation, state FROM audit.generations) all_of_them`,
  })
  const catalogLive = rows[0]?.catalogLive
  if (typeof catalogLive !== 'number') throw new Error('catalog.live_generation has no row')
  return { generations: rows, catalogLive }
}
