import pg from 'pg'
import type { Lab } from './lab.ts'
import { waitFor } from './wait.ts'

async function rows<T extends pg.QueryResultRow>(url: string, sql: string, values: unknown[]): Promise<T[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<T>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** What the source holds for notes whose id starts with `prefix-`: revisions per note. */
export async function sourceRevisions(lab: Lab, prefix: string): Promise<Map<string, number>> {
  const found = await rows<{ note_id: string; revisions: number }>(
    lab.databases.source.notes_verifier,
    `SELECT note_id, count(*)::int AS revisions FROM note_revisions WHERE starts_with(note_id, $1) GROUP BY note_id`,
    [`${prefix}-`],
  )
  return new Map(found.map((row) => [row.note_id, row.revisions]))
}

const totalOf = async (lab: Lab, prefix: string): Promise<number> =>
  [...(await sourceRevisions(lab, prefix)).values()].reduce((sum, count) => sum + count, 0)

export { totalOf as sourceTotal }

export type Consistency = {
  readonly revisions: number
  readonly outboxRows: number
  /** Distinct event ids of records that audit saw. */
  readonly auditedEvents: number
  readonly inboxRows: number
  /** Event ids of the outbox that audit, or the inbox of the live catalog, does not have; and the reverse. */
  readonly differences: readonly string[]
  /** Notes whose live catalog row is not the canonical newest revision, by revision and digest. */
  readonly staleNotes: readonly string[]
}

/**
 * Both sides of the pipeline compared outside of it, for the notes of one prefix: nothing lost, nothing
 * doubled, and readers get exactly the newest revision.
 */
async function compareSides(lab: Lab, prefix: string): Promise<Consistency> {
  const start = [`${prefix}-`]
  const { notes_verifier: source } = lab.databases.source
  const { projection_verifier: projection } = lab.databases.projection
  const [counts] = await rows<{ revisions: number }>(
    source,
    'SELECT count(*)::int AS revisions FROM note_revisions WHERE starts_with(note_id, $1)',
    start,
  )
  const outbox = await rows<{ event_id: string }>(
    source,
    'SELECT event_id FROM outbox WHERE starts_with(note_id, $1)',
    start,
  )
  const audited = await rows<{ event_id: string }>(
    projection,
    'SELECT DISTINCT event_id FROM audit.records WHERE starts_with(note_id, $1)',
    start,
  )
  const inbox = await rows<{ event_id: string }>(
    projection,
    `SELECT event_id FROM catalog.inbox JOIN catalog.live_generation USING (generation)
     WHERE starts_with(note_id, $1)`,
    start,
  )
  const newest = await rows<{ note_id: string; state: string }>(
    source,
    `SELECT note_id, revision || ' ' || content_digest AS state
     FROM notes JOIN note_revisions USING (note_id, revision) WHERE starts_with(note_id, $1)`,
    start,
  )
  const shown = await rows<{ note_id: string; state: string }>(
    projection,
    `SELECT note_id, revision || ' ' || content_digest AS state
     FROM catalog.notes JOIN catalog.live_generation USING (generation) WHERE starts_with(note_id, $1)`,
    start,
  )
  return {
    revisions: counts?.revisions ?? 0,
    outboxRows: outbox.length,
    auditedEvents: audited.length,
    inboxRows: inbox.length,
    differences: [...differences('audit', outbox, audited), ...differences('inbox', outbox, inbox)],
    staleNotes: unequal(newest, shown),
  }
}

function differences(
  where: string,
  expected: readonly { event_id: string }[],
  found: readonly { event_id: string }[],
): string[] {
  const expectedIds = new Set(expected.map((row) => row.event_id))
  const foundIds = new Set(found.map((row) => row.event_id))
  return [
    ...[...expectedIds].filter((id) => !foundIds.has(id)).map((id) => `${id} missing in ${where}`),
    ...[...foundIds].filter((id) => !expectedIds.has(id)).map((id) => `${id} only in ${where}`),
  ]
}

function unequal(
  expected: readonly { note_id: string; state: string }[],
  found: readonly { note_id: string; state: string }[],
): string[] {
  const shown = new Map(found.map((row) => [row.note_id, row.state]))
  return expected
    .filter((row) => shown.get(row.note_id) !== row.state)
    .map((row) => `${row.note_id}: ${row.state}, shown ${shown.get(row.note_id)}`)
}

/** Waits until both sides agree, then shows the comparison. A test states the counts it wants. */
export const settledSides = (lab: Lab, prefix: string): Promise<Consistency> =>
  waitFor(
    'every event applied by audit and catalog',
    async () => {
      const found = await compareSides(lab, prefix)
      return found.differences.length + found.staleNotes.length === 0 ? found : false
    },
    { limitMs: 120_000, everyMs: 500 },
  )

/** What `settledSides` has to be when each of `revisions` arrived exactly once. */
export const complete = (revisions: number): Consistency => ({
  revisions,
  outboxRows: revisions,
  auditedEvents: revisions,
  inboxRows: revisions,
  differences: [],
  staleNotes: [],
})
