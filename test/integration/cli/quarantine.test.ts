import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { withClient } from '../../../database/connection.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson } from '../../support/notesctl.ts'
import { openConsole, type ScratchConsole } from '../console/instance.ts'

// No projector runs on this database: what is redriven stays so.
const lab = useLab()
let api: ScratchConsole
let env: Record<string, string>
beforeAll(async () => {
  api = await openConsole(lab)
  env = { CONSOLE_URL: api.url }
})
afterAll(() => api?.[Symbol.asyncDispose]())

let noteId: string
let place = 0
beforeEach(() => {
  noteId = uniqueNoteId()
})

const park = (state: 'open' | 'held', revision: number, reason = 'malformed-avro'): Promise<string> => {
  place += 1
  return withClient(api.databases.projection.adminUrl, 'test', async (client) => {
    const { rows } = await client.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
         key, value, headers, note_id, revision, state, reason, explanation)
       VALUES ('catalog', 1, 'a.topic', 1, 0, $1, now(), $2, '\\x00ff41', $3, $4, $5, $6, $7, 'It is broken.')
       RETURNING id`,
      [
        place,
        Buffer.from(noteId),
        JSON.stringify([
          ['revision', Buffer.from(String(revision)).toString('base64')],
          ['binary', Buffer.from([0xff, 0x00]).toString('base64')],
          ['forged\u001b[2J', null],
        ]),
        noteId,
        revision,
        state,
        reason,
      ],
    )
    return rows[0].id
  })
}

describe('notesctl quarantine', () => {
  test('list shows what is not settled, narrowed by note, reason and state', async () => {
    const [open, held] = [await park('open', 1), await park('held', 2, 'held')]
    const list = async (...args: string[]) => {
      const { code, stdout } = await notesctl(lab, ['quarantine', 'list', '--json', ...args], { env })
      expect(code).toBe(0)
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).id)
    }
    expect(await list('--note', noteId)).toEqual([open, held])
    expect(await list('--note', noteId, '--state', 'held')).toEqual([held])
    expect(await list('--note', noteId, '--reason', 'malformed-avro')).toEqual([open])
    expect(await list('--note', noteId, '--state', 'discarded')).toEqual([])
    expect(await list('--note', noteId, '--generation', '1')).toEqual([open, held])
    expect(await list('--note', noteId, '--generation', '2')).toEqual([])
    const { stdout } = await notesctl(lab, ['quarantine', 'list', '--note', noteId], { env })
    expect(stdout).toContain(`${noteId}:1  malformed-avro`)
    expect(stdout).toContain(`Held by record ${open}.`)
  })

  test('show prints why, the headers as text or hex, and the bytes; what a stranger wrote cannot move the cursor', async () => {
    const id = await park('open', 1)
    const { stdout } = await notesctl(lab, ['quarantine', 'show', id], { env })
    for (const part of [
      'It is broken.',

      '0xff00',
      '00 ff 41',
      '|..A|',
      '\\u001b[2J',
    ]) {
      expect(stdout).toContain(part)
    }
    expect(stdout).toMatch(new RegExp(`^key +${noteId}$`, 'm'))
    const whole = await notesctlJson<{ value: string }>(lab, ['quarantine', 'show', id], 0, { env })
    expect(Buffer.from(whole.value, 'base64')).toEqual(Buffer.from([0x00, 0xff, 0x41]))
  })

  test('redrive of what is not tried in time is code 7; of a held record it is refused, code 1', async () => {
    const [open, held] = [await park('open', 1), await park('held', 2, 'held')]
    const redrive = (id: string) =>
      notesctl(lab, ['quarantine', 'redrive', id, '--reason', 'it is fixed', '--wait', '1s'], { env })
    const waiting = await redrive(open)
    expect([waiting.code, waiting.stdout]).toEqual([7, expect.stringContaining('redriving')])
    const refused = await redrive(held)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('held behind an earlier')])
    expect((await redrive(open)).code).toBe(7)
  })

  test('redrive in a generation that is not fed is refused: nothing would ever try it', async () => {
    const id = await park('open', 1)
    const admin = (sql: string) =>
      withClient(api.databases.projection.adminUrl, 'test', (client) => client.query(sql))
    await admin("INSERT INTO catalog.generations (generation, state) VALUES (2, 'dropping')")
    await admin(`UPDATE quarantine.records SET generation = 2 WHERE id = ${id}`)
    const refused = await notesctl(lab, ['quarantine', 'redrive', id, '--reason', 'it is fixed'], { env })
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Generation 2 of catalog is not fed'),
    ])
    await admin('DELETE FROM catalog.generations WHERE generation = 2')
  })

  test('redrive of a discarded record has no effect: code 1', async () => {
    const id = await park('open', 1)
    await api.ask(`/quarantine/${id}/discard`, { json: { reason: 'no' } })
    const late = await notesctl(lab, ['quarantine', 'redrive', id, '--reason', 'after all'], { env })
    expect([late.code, late.stdout]).toEqual([1, expect.stringContaining('It was discarded before')])
  })

  test('discard says how many records go on, when any were held', async () => {
    const [first, third] = [await park('open', 1), await park('open', 3)]
    for (const revision of [2, 4, 5]) await park('held', revision, 'held')
    const discard = async (id: string) =>
      (await notesctl(lab, ['quarantine', 'discard', id, '--reason', 'no'], { env })).stdout
    expect(await discard(first)).toContain('never applied. 1 record that was held')
    expect(await discard(third)).toContain('2 records that were held')
    expect(await discard(await park('open', 9))).toMatch(/never applied\.$/m)
  })

  test('what is wrong is named once, with what would be right', async () => {
    const id = await park('open', 1)
    const empty = await notesctl(lab, ['quarantine', 'discard', id, '--reason', ''], { env })
    expect(empty.code).toBe(2)
    expect(empty.stderr.match(/must say something/g)).toHaveLength(1)
    expect(empty.stderr).not.toMatch(/Too small|\.\.$/m)
    for (const [args, valid] of [
      [['quarantine', 'list', '--reason', 'bogus'], 'malformed-avro'],
      [['actions', '--action', 'bogus'], 'quarantine.redrive'],
      [['relay', 'incidents', '--alarm', 'bogus'], 'task-failed'],
    ] as const) {
      const { code, stderr } = await notesctl(lab, [...args], { env })
      expect([code, stderr]).toEqual([2, expect.stringContaining(valid)])
    }
  })

  test('discard is recorded with who and why; the second time it changes nothing and says so', async () => {
    const id = await park('open', 1)
    const discard = () =>
      notesctlJson<{ status: string; explanation: string }>(
        lab,
        ['quarantine', 'discard', id, '--reason', 'never meant for readers'],
        0,
        { env },
      )
    expect(await discard()).toMatchObject({ status: 'done', state: 'discarded' })
    expect(await discard()).toMatchObject({
      status: 'no-effect',
      explanation: expect.stringContaining('before'),
    })
    const { json } = await api.ask(`/actions?target=quarantine/${id}`)
    expect(json.actions).toMatchObject([
      { action: 'quarantine.discard', status: 'no-effect', reason: 'never meant for readers' },
      { action: 'quarantine.discard', status: 'done', principal: expect.stringContaining('|notesctl') },
    ])
  })

  test('an unknown record is code 3; without a reason nothing is sent, code 2', async () => {
    expect((await notesctl(lab, ['quarantine', 'show', '999999'], { env })).code).toBe(3)
    expect((await notesctl(lab, ['quarantine', 'discard', '1'], { env })).code).toBe(2)
  })
})

describe('operator API', () => {
  test('an action needs a reason of 1 to 1000 characters, as JSON; else 422, and nothing is changed', async () => {
    const id = await park('open', 1)
    for (const json of [
      {},
      { reason: '' },
      { reason: ' ' },
      { reason: 'x'.repeat(1_001) },
      { reason: 'a\0b' },
      { reason: 'x', more: 1 },
    ]) {
      expect((await api.ask(`/quarantine/${id}/discard`, { json })).status).toBe(422)
    }
    expect((await api.ask(`/quarantine/${id}`)).json).toMatchObject({ state: 'open', actionId: null })
    const longest = '\u{1f600}'.repeat(1_000)
    expect((await api.ask(`/quarantine/${id}/discard`, { json: { reason: longest } })).status).toBe(200)
  })

  test('discarding what is redriven ends the attempt that was asked for', async () => {
    const id = await park('open', 1)
    const asked = await api.ask(`/quarantine/${id}/redrive`, { json: { reason: 'try' } })
    expect([asked.status, asked.headers.get('location')]).toEqual([202, `/actions/${asked.json.actionId}`])
    await api.ask(`/quarantine/${id}/discard`, { json: { reason: 'no, do not' } })
    expect((await api.ask(`/actions/${asked.json.actionId}`)).json).toMatchObject({ status: 'no-effect' })
  })

  test('pages of the list hold each record once; what is no record number is 400', async () => {
    for (let revision = 1; revision <= 5; revision++) await park('open', revision)
    const seen: string[] = []
    for (let path = `/quarantine?noteId=${noteId}&limit=2`; path; ) {
      const { json } = await api.ask(path)
      seen.push(...json.records.map((record: { revision: number }) => record.revision))
      path = json.next
    }
    expect(seen).toEqual([1, 2, 3, 4, 5])
    for (const id of ["1'", '0', '-1', '1e3', '9'.repeat(30)]) {
      expect((await api.ask(`/quarantine/${encodeURIComponent(id)}`)).status).toBe(400)
    }
  })
})
