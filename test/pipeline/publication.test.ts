import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../core/note.ts'
import { clientOf, jsonOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
const run = promisify(execFile)

const readAtLeast = (noteId: string, revision: number) =>
  waitFor(`${noteId} to be visible at revision ${revision}`, async () => {
    const response = await client.read(`/notes/${noteId}?minRevision=${revision}`, { prefer: 'wait=10' })
    return response.status === 200 || response.status === 410 ? response : undefined
  })

async function query(url: string, sql: string, parameters: unknown[]) {
  const connection = new pg.Client(url)
  await connection.connect()
  try {
    return (await connection.query(sql, parameters)).rows
  } finally {
    await connection.end()
  }
}

describe('the way of a note', () => {
  it('goes from accepted over confirmed to visible, and each is said only with its own evidence', async () => {
    const noteId = uniqueNoteId()
    const answer = await client.save({ noteId, revision: 1, title: 'First', body: '# First\n' })
    expect(answer.status).toBe(202)
    const accepted = await jsonOf(answer)
    expect(accepted).toMatchObject({ noteId, revision: 1, status: 'accepted' })
    expect(answer.headers.get('location')).toBe(`/events/${accepted.eventId}`)

    const visible = await readAtLeast(noteId, 1)
    expect(await jsonOf(visible)).toMatchObject({ noteId, revision: 1, title: 'First', body: '# First\n' })
    expect(visible.headers.get('note-revision')).toBe('1')

    const confirmed = await waitFor('the event to be confirmed', async () => {
      const event = await client.event(accepted.eventId)
      return event.status === 'confirmed' ? event : undefined
    })
    expect(confirmed.evidence.kind).toMatch(/^(recorded|slot)$/)
    expect(confirmed.evidence.relayIncarnation).toBe(confirmed.evidence.currentIncarnation)

    const publication = await client.publication(noteId, 1)
    expect(publication.state).toBe('visible')
  })

  it('carries the outbox bytes, the event id and the trace unchanged into the audit ledger', async () => {
    const noteId = uniqueNoteId()
    const traceId = randomBytes(16).toString('hex')
    const answer = await client.save(
      { noteId, revision: 1 },
      { headers: { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` } },
    )
    const { eventId } = await jsonOf(answer)
    const [intent] = await query(
      lab.databases.source.notes_verifier,
      'SELECT sha256(envelope) AS sha256, traceparent, transaction_id FROM outbox WHERE event_id = $1',
      [eventId],
    )
    const [record] = await waitFor('the record in the ledger', async () => {
      const rows = await query(
        lab.databases.projection.projection_verifier,
        'SELECT * FROM audit.records WHERE event_id = $1',
        [eventId],
      )
      return rows.length > 0 ? rows : undefined
    })
    expect(record.value_sha256).toEqual(intent.sha256)
    expect(record).toMatchObject({ note_id: noteId, revision: 1, event_type: 'NoteRevised', operation: 'c' })
    expect(record.traceparent).toBe(intent.traceparent)
    expect(record.traceparent.split('-')[1]).toBe(traceId)
    // Debezium's txId and the row's own provenance name the same transaction.
    expect(record.wal_tx_id).toBe(intent.transaction_id)
  })

  it.each([
    ['backslashes, quotes, braces and NULL', 'C:\\new "x" {} {"a":1} NULL \\N \t\r\n$1 \\x00'],
    ['right-to-left text, emoji and combining marks', 'שלום עולם 👩‍👩‍👧‍👦 é é ﷺ \u202Eabc'],
    ['the largest body, all in 4-byte characters', '𝄞'.repeat(LIMITS.bodyBytes / 4)],
  ])('shows equal bytes for %s', async (_what, body) => {
    const noteId = uniqueNoteId()
    expect((await client.save({ noteId, revision: 1, body })).status).toBe(202)
    const shown = await jsonOf(await readAtLeast(noteId, 1))
    expect(shown.body === body).toBe(true)
  })

  it('shows the last of 20 quick revisions, and never an older one after a newer one', async () => {
    const noteId = uniqueNoteId()
    const seen: number[] = []
    let reading = true
    const reader = (async () => {
      while (reading) {
        const response = await client.read(`/notes/${noteId}`)
        await response.arrayBuffer()
        if (response.status === 200) seen.push(Number(response.headers.get('note-revision')))
      }
    })()
    for (let revision = 1; revision <= 20; revision++) {
      expect((await client.save({ noteId, revision, body: `Revision ${revision}` })).status).toBe(202)
    }
    const last = await jsonOf(await readAtLeast(noteId, 20))
    reading = false
    await reader
    expect(last.body).toBe('Revision 20')
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  })

  it('answers 410 for a withdrawn note, also to a reader who holds its ETag', async () => {
    const noteId = uniqueNoteId()
    await client.save({ noteId, revision: 1 })
    const etag = (await readAtLeast(noteId, 1)).headers.get('etag') ?? ''
    expect((await client.read(`/notes/${noteId}`, { 'if-none-match': etag })).status).toBe(304)
    await client.save({ noteId, revision: 2, visibility: 'withdrawn' })
    expect((await readAtLeast(noteId, 2)).status).toBe(410)
    expect((await client.read(`/notes/${noteId}`, { 'if-none-match': etag })).status).toBe(410)
    expect((await client.publication(noteId, 2)).visible).toMatchObject({
      answer: 'withdrawn',
      shownRevision: 2,
    })
  })

  it('gives an editor and a reader the same ETag for the same content', async () => {
    const noteId = uniqueNoteId()
    await client.save({ noteId, revision: 1 })
    const visible = await readAtLeast(noteId, 1)
    const canonical = await client.authorized(`/notes/${noteId}`)
    expect(visible.headers.get('etag')).toBe(canonical.headers.get('etag'))
  })

  it('can be looked at with kcat: keyed by note, event id, type and revision as headers', async () => {
    const noteId = uniqueNoteId()
    const { eventId } = await jsonOf(await client.save({ noteId, revision: 1 }))
    await readAtLeast(noteId, 1)
    const { stdout } = await run(
      'kcat',
      [
        ...['-C', '-b', lab.addresses.kafkaBrokers, '-t', 'notes.revisions', '-e', '-q'],
        ...['-f', '%k %h\n'],
      ],
      { maxBuffer: 256 * 1024 * 1024 },
    )
    const line = stdout.split('\n').find((text) => text.startsWith(`${noteId} `))
    expect(line).toContain(`id=${eventId}`)
    expect(line).toContain('type=NoteRevised')
    expect(line).toContain('revision=1')
  })
})
