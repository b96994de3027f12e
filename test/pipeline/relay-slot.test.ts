import { describe, expect, it } from 'vitest'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { openTopic } from '../support/topic-records.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
type Relay = Awaited<ReturnType<typeof scratchRelay>>

const readyz = async ({ watcherUrl }: Relay) => {
  const body = (await (await fetch(`${watcherUrl}/readyz`)).json()) as { checks: Record<string, string> }
  return body.checks
}
const metric = async ({ watcherUrl }: Relay, name: string) => {
  const text = await (await fetch(`${watcherUrl}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1])
}
/** What the watcher has recorded so far, at both databases. */
const recorded = async ({ admin, projected }: Relay) => ({
  confirmed: (
    await admin.query('SELECT confirmed_lsn, confirmed_snapshot FROM relay_slots ORDER BY incarnation')
  ).rows,
  watermark: (await projected.query('SELECT max(as_of) AS as_of FROM freshness')).rows[0]
    .as_of as Date | null,
})
const slotIsActive = async ({ admin, slotName }: Relay) =>
  (await admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [slotName])).rows[0]
    ?.active === true

describe('a slot that was dropped and made anew while the relay was stopped', () => {
  it('fails the task; status and readiness name it; nothing is restarted or confirmed until a person recovers', async () => {
    await using relay = await scratchRelay(lab)
    const encoder = await labEncoder(lab)
    await insertNote(relay.admin, encoder, uniqueNoteId())
    await waitFor('the first watermark', async () => (await recorded(relay)).watermark)

    await relay.put('stop')
    await waitFor('the slot to be released', async () => !(await slotIsActive(relay)))
    await relay.admin.query('SELECT pg_drop_replication_slot($1)', [relay.slotName])
    await insertNote(relay.admin, encoder, uniqueNoteId('lost'))
    await relay.admin.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, true)", [
      relay.slotName,
    ])
    const before = await recorded(relay)
    await relay.put('resume')

    const status = await waitFor('the task to fail', async () => {
      const now = await relay.status()
      const tasks = now.connector.status === 'read' ? now.connector.value.tasks : []
      return tasks[0]?.state === 'FAILED' && now
    })
    expect(status.verdict).toBe('slot-foreign')
    expect(status.slot).toMatchObject({ value: { fault: 'slot-foreign', identityMatches: false } })
    expect(status.connector).toMatchObject({
      value: { tasks: [{ error: expect.stringMatching(/no longer available on the server/) }] },
    })
    // By the time the last heartbeat is 10 s old the watcher has had many chances to do the wrong thing.
    await waitFor('the heartbeat to be old', async () => /s ago/.test((await readyz(relay)).heartbeat ?? ''))
    const checks = await readyz(relay)
    expect(checks.slot).toMatch(/^slot-foreign: /)
    expect(checks.connector).toMatch(/^slot-mismatch: Task 0 .* has failed/)
    expect(await metric(relay, 'relay_restarts_total')).toBe(0)
    expect(await metric(relay, 'relay_failure_left')).toBe(1)
    expect(await recorded(relay)).toEqual(before)
  })
})

describe('a task that failed because the database was away', () => {
  it('is restarted by the watcher, and the flow resumes', async () => {
    await using relay = await scratchRelay(lab, { 'errors.max.retries': '0' })
    const encoder = await labEncoder(lab)
    const topic = await openTopic(lab, relay.topic)
    try {
      await relay.admin.query(
        'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1',
        [relay.slotName],
      )
      await waitFor('a restart', async () => (await metric(relay, 'relay_restarts_total')) > 0)
      const noteId = uniqueNoteId()
      await insertNote(relay.admin, encoder, noteId)
      await topic.first(noteId)
      await waitFor('a running relay', async () => (await relay.status()).verdict === 'running')
    } finally {
      await topic.close()
    }
  })
})
