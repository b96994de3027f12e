/**
 * What the triggers that keep revisions_without_intent cost accept_command: calls with and without them, in turns,
 * on a scratch database of a running lab. Commits do not wait for the disk, so that the difference is seen.
 * Run: node test/measure/write-path.ts [calls a round] [rounds]; LAB_DIR names the lab.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import pg from 'pg'
import { NativeLab } from '../support/native-lab.ts'
import { scratchSource } from '../support/scratch-database.ts'
import { percentile } from './percentile.ts'

const [calls = 2_000, rounds = 6] = process.argv.slice(2).map(Number)
const lab = new NativeLab(process.env.LAB_DIR ?? '.lab-test')
await using source = await scratchSource(lab)
const admin = new pg.Client({ connectionString: source.adminUrl })
const writer = new pg.Client({ connectionString: source.urlOf('notes_write_api') })
await Promise.all([admin.connect(), writer.connect()])
await writer.query('SET synchronous_commit = off')

const fingerprint = randomBytes(32)
const envelope = Buffer.concat([Buffer.alloc(5), randomBytes(345)])
const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`
const triggers = (verb: 'ENABLE' | 'DISABLE') =>
  admin.query(
    `ALTER TABLE note_revisions ${verb} TRIGGER has_intent; ALTER TABLE outbox ${verb} TRIGGER intent_made`,
  )

async function round(): Promise<number[]> {
  const took: number[] = []
  for (let call = 0; call < calls; call++) {
    const values = [
      'm',
      randomUUID(),
      fingerprint,
      randomUUID(),
      1,
      'A title',
      null,
      'article',
      'x'.repeat(300),
      'public',
      new Date(),
      randomUUID(),
      'NoteRevised',
      envelope,
      traceparent,
      '{}',
    ] // prettier-ignore
    const begin = performance.now()
    await writer.query({
      name: 'accept',
      text: `SELECT * FROM accept_command($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)`,
      values,
    })
    took.push(performance.now() - begin)
  }
  return took
}

await round()
const without: number[] = []
const withThem: number[] = []
for (let turn = 0; turn < rounds; turn++) {
  await triggers('DISABLE')
  without.push(...(await round()))
  await triggers('ENABLE')
  withThem.push(...(await round()))
}
for (const [name, took] of [
  ['without', without],
  ['with', withThem],
] as const) {
  const [p50, p90, mean] = [
    percentile(took, 50),
    percentile(took, 90),
    took.reduce((a, b) => a + b) / took.length,
  ]
  process.stdout.write(
    `${name}: ${took.length} calls, p50 ${p50.toFixed(3)} ms, p90 ${p90.toFixed(3)} ms, mean ${mean.toFixed(3)} ms\n`,
  )
}
await Promise.all([admin.end(), writer.end()])
