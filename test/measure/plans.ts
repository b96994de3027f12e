import type pg from 'pg'

/** Tables that grow with the publications: no statement may read one as a whole. */
const GROWING = new Set([
  'public.notes',
  'public.note_revisions',
  'public.outbox',
  'public.request_receipts',
  'catalog.notes',
  'catalog.inbox',
  'audit.records',
])

type Plan = {
  readonly 'Node Type': string
  readonly Schema?: string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Plan[]
}

/**
 * The growing tables that a statement reads as a whole: by a sequential scan, or through an index without a
 * condition and without a limit above it.
 */
export async function wholeReads(client: pg.Client, sql: string, values: unknown[]): Promise<string[]> {
  const { rows } = await client.query(`EXPLAIN (VERBOSE, FORMAT JSON) ${sql}`, values)
  return wholeReadsOf(rows[0]['QUERY PLAN'][0].Plan, false)
}

function wholeReadsOf(plan: Plan, isLimited: boolean): string[] {
  const limited = isLimited || plan['Node Type'] === 'Limit'
  const table = `${plan.Schema}.${plan['Relation Name']}`
  const isWhole =
    plan['Node Type'] === 'Seq Scan' ||
    (plan['Node Type'].includes('Index') && plan['Index Cond'] === undefined && !limited)
  const own = GROWING.has(table) && isWhole ? [`${table} (${plan['Node Type']})`] : []
  return [...own, ...(plan.Plans ?? []).flatMap((child) => wholeReadsOf(child, limited))]
}
