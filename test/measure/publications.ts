/**
 * How long the chain of one publication takes over HTTP when there are many, and whether each statement behind it
 * is a look into an index. Fills databases of its own on the servers of a running lab, directly by SQL.
 * Run: node test/measure/publications.ts [publications] [requests]; LAB_DIR names the lab.
 * Ends with 1 when p99 is above 50 ms, or a statement reads a table that grows with the publications as a whole.
 */
import pg from 'pg'
import { INCIDENTS_SINCE } from '../../services/console/publications/incidents.ts'
import { PROJECTION_FACTS } from '../../services/console/publications/projection-facts.ts'
import {
  AHEAD,
  NOT_APPLIED,
  NOTES,
  OVERTAKEN,
  PASSED,
} from '../../services/console/publications/projection-lanes.ts'
import { SOURCE_FACTS } from '../../services/console/publications/source-facts.ts'
import {
  SKIPPED,
  UNCHECKED,
  UNSLOTTED,
  WITHOUT_INTENT,
} from '../../services/console/publications/source-lanes.ts'
import { openConsole } from '../integration/console/instance.ts'
import { NativeLab } from '../support/native-lab.ts'
import { scratchProjection, scratchSource } from '../support/scratch-database.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { fillProjection, fillSource } from './fill-publications.ts'
import { percentile } from './percentile.ts'
import { wholeReads } from './plans.ts'

const P99_LIMIT_MS = 50
const NIL = '00000000-0000-0000-0000-000000000000'
const [publications = 1_000_000, requests = 2_000] = process.argv.slice(2).map(Number)
const say = (text: string) => process.stdout.write(`${text}\n`)

const lab = new NativeLab(process.env.LAB_DIR ?? '.lab-test')
await using source = await scratchSource(lab)
await using projection = await scratchProjection(lab)
const atSource = new pg.Client({ connectionString: source.adminUrl })
const atProjection = new pg.Client({ connectionString: projection.adminUrl })
// Dropping the databases at the end cuts them: the failure that led there is what has to be seen.
for (const client of [atSource, atProjection]) client.on('error', () => {})
await Promise.all([atSource.connect(), atProjection.connect()])
const began = performance.now()
await Promise.all([fillSource(atSource, publications), fillProjection(atProjection, publications)])
say(`${publications} publications filled in ${((performance.now() - began) / 1_000).toFixed(1)} s`)

const key = [['note-5'], [1]]
const statements: [pg.Client, string, string, unknown[]][] = [
  [atSource, 'source facts', SOURCE_FACTS, key],
  [atSource, 'list without-intent', WITHOUT_INTENT, ['0', '', '0', null, 100]],
  [atSource, 'list skipped', SKIPPED, ['0', NIL, 100]],
  [atSource, 'list unchecked', UNCHECKED, ['0', '0', NIL, 100]],
  [atSource, 'list unslotted', UNSLOTTED, [null, NIL, 100]],
  [atProjection, 'projection facts', PROJECTION_FACTS, key],
  [atProjection, 'incidents', INCIDENTS_SINCE, [new Date()]],
  [atProjection, 'list quarantine', NOT_APPLIED, ['catalog', '0', 100]],
  [atProjection, 'list ahead', AHEAD, ['', '0', '-1', 100]],
  [atProjection, 'list notes', NOTES, ['note-5', 100]],
  [atProjection, 'list gaps', PASSED, ['note-5', '0', 100]],
  [atProjection, 'list inbox', OVERTAKEN, ['note-5', '0', 100]],
]
for (const [client, name, sql, values] of statements) {
  const found = await wholeReads(client, sql, values)
  if (found.length > 0) process.exitCode = 1
  say(`${name}: ${found.length === 0 ? 'index lookups' : `READS ALL OF ${found.join(', ')}`}`)
}

await using readApi = await startServiceProcess('services/read-api/main.ts', {
  ...lab.environment('read-api'),
  PROJECTION_DATABASE_URL: projection.urlOf('projection_read_api'),
})
await using api = await openConsole(
  lab,
  { READ_API_URL: readApi.url, CONSOLE_RATE_LIMIT_PER_SECOND: '1000000' },
  { source, projection },
)
const token = await lab.token({ subject: 'olga', roles: ['operator'], expiresInSeconds: 3_600 })
async function ask(path: string): Promise<number> {
  const begin = performance.now()
  const response = await fetch(`${api.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const { state } = (await response.json()) as { state?: string }
  if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`)
  if (state !== undefined && state !== 'projection-current') throw new Error(`${path} is ${state}`)
  return performance.now() - begin
}
const anyNote = () => `note-${1 + Math.floor(Math.random() * publications)}`
for (let warm = 0; warm < 50; warm++) await ask(`/publications/${anyNote()}/1`)
const took: number[] = []
for (let request = 0; request < requests; request++) took.push(await ask(`/publications/${anyNote()}/1`))
const p99 = percentile(took, 99)
say(`chain: ${requests} requests, p50 ${percentile(took, 50).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
for (const state of ['note-only', 'intent-pending', 'intent-relayed', 'projection-current', 'superseded']) {
  const pages: number[] = []
  for (let page = 0; page < 10; page++) pages.push(await ask(`/publications?state=${state}`))
  say(`list ${state}: p50 ${percentile(pages, 50).toFixed(1)} ms`)
}
if (p99 > P99_LIMIT_MS) process.exitCode = 1
await Promise.all([atSource.end(), atProjection.end()])
