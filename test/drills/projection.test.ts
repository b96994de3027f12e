import pg from 'pg'
import { expect, test } from 'vitest'
import { SHIPPED_SCHEMA } from '../../core/event-schema.ts'
import { createLogger } from '../../core/log.ts'
import { RegistryClient } from '../../core/registry.ts'
import { restoreErasures } from '../../lab/erasures.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { openRelayConsole } from '../support/relay-console.ts'
import { scratchProjection } from '../support/scratch-database.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)
const SUBJECT = 'notes.revisions-value'

test('projection lost whole: what was erased is known before anything is read again, and is never shown; the rest comes from topic and source', async () => {
  await using stack = new AsyncDisposableStack()
  const relay = stack.use(await scratchRelay(lab))
  const schema = await new RegistryClient(lab.addresses.registryUrl).idOf(SUBJECT, SHIPPED_SCHEMA)
  if (!schema.found) throw new Error('the lab has not registered the event schema')
  await relay.admin.query('INSERT INTO known_schemas (subject, schema_id, schema) VALUES ($1, $2, $3)', [
    ...[SUBJECT, schema.value, SHIPPED_SCHEMA],
  ])
  const [kept, erased] = [uniqueNoteId('kept'), uniqueNoteId('erased')]
  const inserted = [
    await insertNote(relay.admin, encoder, kept),
    await insertNote(relay.admin, encoder, erased),
  ]
  const before = await openRelayConsole(lab, relay)
  try {
    await waitFor('both are visible', async () => {
      const { rows } = await relay.projected.query(
        'SELECT FROM catalog.inbox WHERE event_id = ANY ($1::uuid[])',
        [inserted],
      )
      return rows.length === 2
    })
    const begun = await before.ask('/erasures', { noteId: erased, reason: 'asked to' })
    expect(begun.status, JSON.stringify(begun.json)).toBeLessThan(300)
    await before.until(`/erasures/${erased}`, 'finished')
  } finally {
    await before[Symbol.asyncDispose]()
  }

  await relay.stopProjector()
  const fresh = stack.use(await scratchProjection(lab))
  const projected = new pg.Client({ connectionString: fresh.adminUrl })
  await projected.connect()
  stack.defer(() => projected.end())
  // Everything that readers could ever have been shown.
  await projected.query(`
    CREATE TABLE shown (note_id text, body text);
    CREATE FUNCTION keep_shown() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
      'BEGIN INSERT INTO public.shown VALUES (new.note_id, new.body); RETURN NULL; END';
    CREATE TRIGGER keep_shown AFTER INSERT OR UPDATE ON catalog.notes
      FOR EACH ROW EXECUTE FUNCTION keep_shown()`)
  const urls = {
    source: relay.sourceUrlOf('notes_operator'),
    projection: fresh.urlOf('projection_operator'),
  }
  const logger = createLogger('test', 'silent')
  expect(await restoreErasures(urls, logger)).toEqual([`erasure of ${erased} up to revision 1`])
  expect(await restoreErasures(urls, logger)).toEqual([])

  await relay.startProjector({ PROJECTION_DATABASE_URL: fresh.urlOf('projection_projector') })
  const operatorApi = stack.use(
    await openRelayConsole(lab, relay, {
      PROJECTION_DATABASE_URL: fresh.urlOf('projection_operator'),
      PROJECTION_VERIFIER_DATABASE_URL: fresh.urlOf('projection_verifier'),
    }),
  )
  await waitFor('the topic is read again', async () => {
    const { rows } = await projected.query(
      `SELECT (SELECT count(*)::int FROM catalog.inbox) = 3 AND (SELECT count(*)::int FROM audit.records) = 3 AS is_read`,
    )
    return rows[0].is_read
  })
  expect(await operatorApi.verify()).toEqual({ equal: true, differences: [] })

  const begun = await operatorApi.ask('/rebuilds', {
    consumer: 'catalog',
    from: 'source',
    reason: 'as if the topic had lost its beginning',
  })
  expect(begun.status, JSON.stringify(begun.json)).toBe(202)
  await operatorApi.until(`/rebuilds/${begun.json.id}`, 'ready')
  const switched = await operatorApi.ask(`/rebuilds/${begun.json.id}/switch`, { reason: 'it is equal' })
  expect([switched.status, switched.json.to]).toEqual([200, 2])
  expect(await operatorApi.verify()).toEqual({ equal: true, differences: [] })
  const { rows: shown } = await projected.query('SELECT DISTINCT note_id, body FROM shown ORDER BY note_id')
  expect(shown).toEqual([
    { note_id: erased, body: '' },
    { note_id: kept, body: `Body of ${kept}` },
  ])
})
