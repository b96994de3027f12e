import pg from 'pg'

const ROWS_AT_A_TIME = 2_000

/** Reads tables of one database in one snapshot, a few rows at a time: their contents do not fit into memory. */
export class SnapshotReader {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** Runs `work` in one read-only transaction. @throws what the driver throws. */
  static async use<T>(url: string, work: (reader: SnapshotReader) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url, application_name: 'fault-checker' })
    await client.connect()
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      return await work(new SnapshotReader(client))
    } finally {
      await client.end()
    }
  }

  /** Every row of a query, each turned into what is kept of it. */
  async map<Row extends pg.QueryResultRow, T>(
    sql: string,
    keep: (row: Row) => T,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    const kept: T[] = []
    await this.#client.query(`DECLARE collected NO SCROLL CURSOR FOR ${sql}`, [...values])
    for (;;) {
      const { rows } = await this.#client.query<Row>(`FETCH ${ROWS_AT_A_TIME} FROM collected`)
      if (rows.length === 0) break
      for (const row of rows) kept.push(keep(row))
    }
    await this.#client.query('CLOSE collected')
    return kept
  }
}
