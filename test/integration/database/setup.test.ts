import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { migrate } from 'postgres-migrations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withClient } from '../../../database/connection.ts'
import { migrateDatabase } from '../../../database/migrate.ts'
import { ensureRolesAndDatabase, SOURCE_ROLES } from '../../../database/roles.ts'
import { ensureSlot } from '../../../database/slot.ts'
import { useLab } from '../../support/lab.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'

const lab = useLab()

describe('setup of the whole lab', () => {
  test('a second run changes nothing', async () => {
    expect(await lab.setup()).toEqual({ changed: [], warnings: [] })
  })
})

describe('setup of a database', () => {
  let scratch: ScratchDatabase<(typeof SOURCE_ROLES)[number]['name']>
  const sql = <Row>(text: string, values: unknown[] = []) =>
    withClient(scratch.adminUrl, 'test', async (client) => (await client.query(text, values)).rows as Row[])
  const slotOptions = () => ({
    ownerUrl: scratch.urlOf('notes_owner'),
    replicationUrl: scratch.urlOf('notes_debezium'),
    slotName: scratch.name,
  })

  beforeAll(async () => {
    scratch = await scratchSource(lab)
  })
  afterAll(() => scratch[Symbol.asyncDispose]())

  test('roles and migrations that are in place are left alone', async () => {
    const options = { adminUrl: scratch.adminUrl, roles: SOURCE_ROLES, passwords: scratch.passwords }
    expect(await ensureRolesAndDatabase(options)).toEqual([])
    expect(await migrateDatabase(scratch.urlOf('notes_owner'), 'source')).toEqual([])
  })

  test('an applied migration that was changed afterwards is refused', async () => {
    const changed = await mkdtemp(path.join(tmpdir(), 'migrations-'))
    try {
      const source = path.join(import.meta.dirname, '../../../database/source')
      for (const file of await readdir(source)) {
        await copyFile(path.join(source, file), path.join(changed, file))
      }
      await writeFile(path.join(changed, '001_content_digest.sql'), '-- another one\nSELECT 1;\n')
      const again = withClient(scratch.urlOf('notes_owner'), 'test', (client) => migrate({ client }, changed))
      await expect(again).rejects.toThrow(/Hashes don't match.*content_digest/)
    } finally {
      await rm(changed, { recursive: true })
    }
  })

  test('the slot is made once, carries its stamp for good, and is recorded as incarnation 1', async () => {
    const created = await ensureSlot(slotOptions())
    expect(created).toEqual({ status: 'created', incarnation: 1 })
    const stampOf = async () =>
      (
        await sql<{ two_phase_at: string }>(
          'SELECT two_phase_at::text FROM pg_replication_slots WHERE slot_name = $1',
          [scratch.name],
        )
      )[0]?.two_phase_at
    const stamp = await stampOf()
    const recorded = await sql('SELECT incarnation, identity_lsn::text, slot_name FROM relay_slots')
    expect(recorded).toEqual([{ incarnation: 1, identity_lsn: stamp, slot_name: scratch.name }])

    await sql('INSERT INTO relay_heartbeat DEFAULT VALUES')
    await sql('SELECT pg_replication_slot_advance($1, pg_current_wal_lsn())', [scratch.name])
    expect(await stampOf()).toBe(stamp)
    expect(await ensureSlot(slotOptions())).toEqual({ status: 'unchanged', incarnation: 1 })
  })

  test('a setup cut off between making the slot and recording it is completed', async () => {
    await sql('DELETE FROM relay_slots')
    expect(await ensureSlot(slotOptions())).toMatchObject({ status: 'recorded' })
    expect(await ensureSlot(slotOptions())).toMatchObject({ status: 'unchanged' })
  })

  test('a recorded slot that is gone is named, not made again', async () => {
    await sql('SELECT pg_drop_replication_slot($1)', [scratch.name])
    const outcome = await ensureSlot(slotOptions())
    expect(outcome).toMatchObject({ status: 'refused', explanation: expect.stringContaining('is gone') })
    expect(await sql('SELECT 1 FROM pg_replication_slots WHERE slot_name = $1', [scratch.name])).toEqual([])
  })

  test.each([true, false])(
    'a slot made anew by somebody else (two_phase %s) is told from the recorded one',
    async (twoPhase) => {
      await sql(`SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, $2)`, [
        scratch.name,
        twoPhase,
      ])
      const outcome = await ensureSlot(slotOptions())
      expect(outcome).toMatchObject({
        status: 'refused',
        explanation: expect.stringContaining('another one'),
      })
      await sql('SELECT pg_drop_replication_slot($1)', [scratch.name])
    },
  )
})
