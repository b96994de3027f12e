import type pg from 'pg'

/** Tables of a database in which any of these texts stands, in whatever form PostgreSQL shows a row. */
export async function tablesWith(pool: pg.Pool, ...texts: string[]): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const { rowCount } = await pool.query(
      `SELECT FROM ${name} AS t WHERE EXISTS (SELECT FROM unnest($1::text[]) AS x WHERE t::text LIKE '%' || x || '%')`,
      [
        texts.flatMap((text) => [
          text,
          Buffer.from(text).toString('hex'),
          Buffer.from(text).toString('base64'),
        ]),
      ],
    )
    if (rowCount) found.push(name)
  }
  return found
}
