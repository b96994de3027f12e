import { randomUUID } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { connectOwner, countsOf } from './database.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()
const ownerUrl = lab.databases.source.notes_owner
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

/** Holds the row of a note, so that the next command for it stands between its receipt and its COMMIT. */
async function holdNote(noteId: string) {
  const client = new pg.Client({ connectionString: ownerUrl })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM notes WHERE note_id = $1 FOR UPDATE', [noteId])
  return {
    /** Resolves when a backend waits for the row; its process id. */
    waiter: () =>
      waitFor('a command that waits for the row', async () => {
        const { rows } = await client.query(
          `SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))
             AND usename = 'notes_write_api'`,
        )
        return rows[0]?.pid as number | undefined
      }),
    release: () => client.end(),
  }
}

describe('a write API killed between receipt and COMMIT', () => {
  test.each([
    ['and its backend with it: the retry is accepted', true],
    ['while its backend goes on and commits: the retry replays', false],
  ])('%s; nothing stays in progress', async (_title, backendDies) => {
    const owner = await connectOwner(ownerUrl)
    const victim = await startWriteApi(lab)
    const noteId = uniqueNoteId()
    const key = randomUUID()
    await victim.save({ noteId, revision: 1 })
    const hold = await holdNote(noteId)
    const lost = victim.save({ noteId, revision: 2 }, { key }).catch((error: unknown) => error)
    const backend = await hold.waiter()
    await victim.end('SIGKILL')
    expect(await lost).toBeInstanceOf(Error)
    if (backendDies) {
      const admin = await connectOwner(lab.databases.sourceAdmin)
      await admin.query('SELECT pg_terminate_backend($1, 10000)', [backend])
    }
    await hold.release()
    const retried = await api.save({ noteId, revision: 2 }, { key })
    expect(retried.status).toBe(202)
    expect(retried.headers.get('idempotency-replayed')).toBe(backendDies ? null : 'true')
    expect(await countsOf(owner, noteId)).toEqual({ current: 2, revisions: 2, intents: 2, receipts: 2 })
  })
})

test('a socket cut after COMMIT, before the answer: the same request again gets the original 202', async () => {
  const owner = await connectOwner(ownerUrl)
  const noteId = uniqueNoteId()
  const key = randomUUID()
  // Passes the request on, and cuts the client when the first byte of the answer comes back.
  let answered = ''
  const cutter = net.createServer((client) => {
    const upstream = net.connect(Number(new URL(api.url).port), '127.0.0.1')
    client.pipe(upstream)
    client.on('error', () => upstream.destroy())
    upstream.once('data', (chunk) => {
      answered = chunk.toString()
      client.destroy()
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => cutter.listen(0, '127.0.0.1', resolve))
  const cutUrl = `http://127.0.0.1:${(cutter.address() as net.AddressInfo).port}`
  const body = JSON.stringify({ noteId, revision: 1, title: 't', type: 'article', body: 'b' })
  const headers = {
    authorization: `Bearer ${await lab.token({ subject: 'ada' })}`,
    'content-type': 'application/json',
    'idempotency-key': key,
  }
  await expect(fetch(`${cutUrl}/notes`, { method: 'POST', headers, body })).rejects.toThrow()
  cutter.close()
  const again = await api.save({ noteId, revision: 1 }, { key, body })
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true'])
  expect(answered).toContain(again.text)
  expect(await countsOf(owner, noteId)).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
})

describe('PostgreSQL stopped in the middle of a request', () => {
  test('503 with Retry-After, nothing half-written, no failure remembered: the retry commits once', async () => {
    const noteId = uniqueNoteId()
    const key = randomUUID()
    await api.save({ noteId, revision: 1 })
    const hold = await holdNote(noteId)
    const inTheMiddle = api.save({ noteId, revision: 2 }, { key })
    await hold.waiter()
    // SIGKILL, not an orderly stop: that could let the waiting command commit first.
    await lab.kill('source-db')
    await hold.release().catch(() => undefined)
    const answer = await inTheMiddle
    await lab.stop('source-db')
    try {
      expect([answer.status, answer.json.code]).toEqual([503, 'unavailable'])
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.text).not.toMatch(/ECONN|terminat|administrator|postgres|57P0/i)

      for (const path of [`/notes/${noteId}`, `/events/${randomUUID()}`, `/publications/${noteId}/1`]) {
        const read = await api.send(path)
        expect([read.status, read.headers.get('retry-after')]).toEqual([503, '1'])
      }
      expect((await api.save({ noteId, revision: 2 }, { key })).status).toBe(503)
      expect((await api.raw('/readyz')).status).toBe(503)
      expect((await api.raw('/livez')).status).toBe(200)
    } finally {
      await lab.start('source-db')
      await lab.waitReady('source-db')
    }
    const retried = await waitFor('the retry', async () => {
      const again = await api.save({ noteId, revision: 2 }, { key })
      return again.status === 202 && again
    })
    expect(retried.headers.get('idempotency-replayed')).toBeNull()
    const owner = await connectOwner(ownerUrl)
    expect(await countsOf(owner, noteId)).toEqual({ current: 2, revisions: 2, intents: 2, receipts: 2 })
    await waitFor('readiness', async () => (await api.raw('/readyz')).status === 200)
    await lab.waitReady('connect')
  })
})

test('requests that wait for a key use up no connections: others go on, and the waiters are told to come back', async () => {
  const owner = await connectOwner(ownerUrl)
  const small = await startWriteApi(lab, { DATABASE_POOL_SIZE: '2' })
  try {
    const key = randomUUID()
    const noteId = uniqueNoteId()
    // Another process is at it: its receipt is written and not committed.
    await owner.query('BEGIN')
    await owner.query(
      `INSERT INTO request_receipts (principal, idempotency_key, fingerprint, event_id, note_id, revision, answer)
       VALUES ($1, $2, sha256('x'), gen_random_uuid(), $3, 1, '{}')`,
      [`${lab.auth.issuer}|ada`, key, noteId],
    )
    const waiters = Array.from({ length: 40 }, () => small.save({ noteId, revision: 1 }, { key }))
    await waitFor('the first of them to wait in the database', async () => {
      const { rows } = await owner.query(
        'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
      )
      return rows.length === 1
    })
    expect((await small.save({ noteId: uniqueNoteId(), revision: 1 })).status).toBe(202)
    for (const answer of await Promise.all(waiters)) {
      expect([answer.status, answer.json.code]).toEqual([503, 'idempotency-key-in-progress'])
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await owner.query('ROLLBACK')
    expect((await small.save({ noteId, revision: 1 }, { key })).status).toBe(202)
  } finally {
    await owner.query('ROLLBACK')
    await small.end('SIGTERM')
  }
})

test('SIGTERM under load: what was acknowledged is there, the rest was never half-done, and it exits 0', async () => {
  const owner = await connectOwner(ownerUrl)
  const stopping = await startWriteApi(lab)
  const agent = new http.Agent({ keepAlive: true })
  const acknowledged: string[] = []
  const sent: string[] = []
  const loops = Array.from({ length: 8 }, async () => {
    for (;;) {
      const noteId = uniqueNoteId('drain')
      sent.push(noteId)
      try {
        if ((await stopping.save({ noteId, revision: 1 }, { agent })).status === 202)
          acknowledged.push(noteId)
      } catch {
        return
      }
    }
  })
  await waitFor('some load', () => acknowledged.length > 50)
  expect(await stopping.end('SIGTERM')).toBe(0)
  await Promise.all(loops)
  agent.destroy()
  const { rows } = await owner.query('SELECT note_id FROM outbox WHERE note_id = ANY ($1)', [sent])
  const stored = new Set(rows.map((row) => row.note_id))
  expect(acknowledged.filter((noteId) => !stored.has(noteId))).toEqual([])
  // Every request that was taken was answered too: an orderly end leaves nobody in doubt.
  expect(stored.size).toBe(acknowledged.length)
})

test('SIGTERM while a command is under way: it is answered, and its connection ends with the answer', async () => {
  const stopping = await startWriteApi(lab)
  const agent = new http.Agent({ keepAlive: true })
  const noteId = uniqueNoteId()
  await stopping.save({ noteId, revision: 1 }, { agent })
  const hold = await holdNote(noteId)
  const underWay = stopping.save({ noteId, revision: 2 }, { agent })
  await hold.waiter()
  const ended = stopping.end('SIGTERM')
  await waitFor('no new connections', async () => {
    const refused = await stopping.raw('/livez').catch((error: { code?: string }) => error.code)
    return refused === 'ECONNREFUSED'
  })
  await hold.release()
  const answer = await underWay
  expect([answer.status, answer.headers.get('connection')]).toEqual([202, 'close'])
  expect(await ended).toBe(0)
  agent.destroy()
})
