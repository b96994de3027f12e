import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { contentDigest } from '../../../core/content-digest.ts'
import type { Lab } from '../../support/lab.ts'
import { scratchProjection, scratchSource } from '../../support/scratch-database.ts'
import { startServiceProcess } from '../../support/service-process.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { openConsole } from './instance.ts'

const TRACEPARENT = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`
const CONTENT = { title: 'A title', url: null, type: 'article', body: 'b', visibility: 'public' } as const

export type Note = { readonly noteId: string; readonly revision: number }
/** An event as it is at the source, and as a record of it would be. */
export type MadeEvent = Note & { readonly eventId: string; readonly envelope: Buffer; readonly at: Date }

/**
 * An operator API and a read API on databases of their own, and the hand that writes there what relay and
 * projector would: every state can be put in place, and nothing moves by itself.
 */
export async function publicationWorld(lab: Lab, env: Readonly<Record<string, string>> = {}) {
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await scratchSource(lab))
  const projection = stack.use(await scratchProjection(lab))
  const readApi = stack.use(
    await startServiceProcess('services/read-api/main.ts', {
      ...lab.environment('read-api'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_read_api'),
    }),
  )
  const connect = async (url: string) => {
    const client = new pg.Client({ connectionString: url, application_name: 'write-api' })
    await client.connect()
    stack.defer(() => client.end())
    return client
  }
  const at = await connect(source.adminUrl)
  const writer = await connect(source.urlOf('notes_write_api'))
  const seen = await connect(projection.adminUrl)
  // Of the operator API only: every other client reaches the parts directly.
  const links = {
    source: stack.use(await startTcpProxy(lab.addresses.sourceDb)),
    projection: stack.use(await startTcpProxy(lab.addresses.projectionDb)),
    'read-api': stack.use(
      await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(readApi.url).port) }),
    ),
  }
  const through = (url: string, link: keyof typeof links) => {
    const changed = new URL(url)
    changed.port = String(links[link].port)
    return changed.toString().replace(/\/$/, '')
  }
  const api = stack.use(
    await openConsole(
      lab,
      {
        READ_API_URL: through(readApi.url, 'read-api'),
        SOURCE_DATABASE_URL: through(source.urlOf('notes_operator'), 'source'),
        PROJECTION_DATABASE_URL: through(projection.urlOf('projection_operator'), 'projection'),
        SOURCE_VERIFIER_DATABASE_URL: through(source.urlOf('notes_verifier'), 'source'),
        PROJECTION_VERIFIER_DATABASE_URL: through(projection.urlOf('projection_verifier'), 'projection'),
        ...env,
      },
      { source, projection },
    ),
  )
  let offset = 0

  /** As the write API accepts it. */
  async function accept(note: Note, key: string = randomUUID()): Promise<MadeEvent> {
    const eventId = randomUUID()
    const occurredAt = new Date()
    const envelope = Buffer.concat([
      Buffer.alloc(5),
      Buffer.from(`${note.noteId}:${note.revision}:${eventId}`),
    ])
    const answer = { eventId, ...note, status: 'accepted' }
    const { rows } = await writer.query(
      'SELECT outcome FROM accept_command($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)',
      [
        'issuer#erika',
        key,
        Buffer.alloc(32, key),
        note.noteId,
        note.revision,
        CONTENT.title,
        CONTENT.url,
        CONTENT.type,
        CONTENT.body,
        CONTENT.visibility,
        occurredAt,
        eventId,
        'NoteRevised',
        envelope,
        TRACEPARENT,
        JSON.stringify(answer),
      ], // prettier-ignore
    )
    if (rows[0].outcome !== 'accepted') throw new Error(`${note.noteId}:${note.revision}: ${rows[0].outcome}`)
    return { ...note, eventId, envelope, at: occurredAt }
  }

  /** A revision that no intent was made for, written by the write API's own role. */
  async function bypass({ noteId, revision }: Note): Promise<void> {
    await writer.query('INSERT INTO notes (note_id, revision) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      noteId,
      revision,
    ])
    await writer.query(
      `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
       VALUES ($1, $2, 't', 'article', 'b', 'public', now())`,
      [noteId, revision],
    )
  }

  /** A record in the topic, as audit saw it. */
  async function record(event: MadeEvent, { ageSeconds = 0, operation = 'c', value = event.envelope } = {}) {
    const place = offset++
    await seen.query(
      `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, operation, wal_lsn,
         committed_at, event_id, event_type, note_id, revision, value_bytes, value_sha256)
       VALUES (1, 'notes.revisions', 0, $1, now() - make_interval(secs => $2), $3, CASE $3 WHEN 'c' THEN '0/1A2B3C'::pg_lsn END,
         CASE $3 WHEN 'c' THEN $4::timestamptz END, $5, 'NoteRevised', $6, $7, $8, $9)`,
      [
        place,
        ageSeconds,
        operation,
        event.at,
        event.eventId,
        event.noteId,
        event.revision,
        value.length,
        createHash('sha256').update(value).digest(),
      ],
    )
    return place
  }

  /** Where the catalog stands in the topic. */
  const progress = (nextOffset: number, { idleSeconds = 0, generation = 1 } = {}) =>
    seen.query(
      `INSERT INTO catalog.progress (generation, topic, partition, next_offset, cluster_id, updated_at)
       VALUES ($1, 'notes.revisions', 0, $2, 'c', now() - make_interval(secs => $3))
       ON CONFLICT (generation, topic, partition) DO UPDATE SET next_offset = greatest(excluded.next_offset, catalog.progress.next_offset), updated_at = excluded.updated_at`,
      [generation, nextOffset, idleSeconds],
    )

  /** What the catalog does with an event: its inbox, and the note when it is the newest. */
  async function apply(event: MadeEvent, { generation = 1, body = CONTENT.body as string } = {}) {
    await seen.query(
      `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
       VALUES ($1, $2, $3, $4, $5)`,
      [generation, event.eventId, event.noteId, event.revision, contentDigest({ ...CONTENT, body })],
    )
    await seen.query(
      `INSERT INTO catalog.notes AS n (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (generation, note_id) DO UPDATE SET revision = excluded.revision, event_id = excluded.event_id,
         revised_at = excluded.revised_at, applied_at = clock_timestamp() WHERE excluded.revision > n.revision`,
      [
        generation,
        event.noteId,
        event.revision,
        event.eventId,
        CONTENT.title,
        CONTENT.type,
        body,
        CONTENT.visibility,
        event.at,
      ],
    )
  }

  async function quarantine(
    event: MadeEvent,
    {
      state = 'open',
      reason = 'undecodable',
      consumer = 'catalog',
      value = event.envelope,
      decoded = false,
    } = {},
  ): Promise<string> {
    const { rows } = await seen.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time, value,
         headers, event_id, note_id, revision, reason, explanation, state, resolved_at, decoded)
       VALUES ($1, 1, 'notes.revisions', 1, 0, $2, now(), $3, '[]', $4, $5, $6, $7, 'It cannot be read.', $8,
         CASE $8 WHEN 'discarded' THEN now() END, $9) RETURNING id`,
      [consumer, offset++, value, event.eventId, event.noteId, event.revision, reason, state, decoded],
    )
    return rows[0].id
  }

  /** A slot on record, so that intents from now on have an incarnation. */
  const slot = () =>
    at.query(
      `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason) VALUES ('x', '0/1', '0/1', 'test')`,
    )
  /** The watcher has seen the slot pass all that is committed now. */
  const confirm = () =>
    at.query(
      `UPDATE relay_slots SET confirmed_snapshot = pg_current_snapshot(), confirmed_lsn = pg_current_wal_insert_lsn(),
         confirmed_at = clock_timestamp() WHERE incarnation = (SELECT max(incarnation) FROM relay_slots)`,
    )

  const where = async (noteId: string, revision?: number) =>
    (await api.ask(`/publications/${noteId}${revision === undefined ? '' : `/${revision}`}`)).json
  const owned = stack.move()
  return {
    api,
    source,
    projection,
    readApi,
    at,
    seen,
    links,
    accept,
    bypass,
    record,
    progress,
    apply,
    quarantine,
    slot,
    confirm,
    where,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  } // prettier-ignore
}
export type PublicationWorld = Awaited<ReturnType<typeof publicationWorld>>
