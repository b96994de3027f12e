import pg from 'pg'
import { databaseOf, withClient, withDatabase, withRole } from './connection.ts'

export type RoleDefinition = {
  readonly name: string
  readonly replication: boolean
  /** Predefined roles of PostgreSQL that it is a member of. */
  readonly memberOf: readonly string[]
}

const role = <const Name extends string>(name: Name) => ({ name, replication: false, memberOf: [] })

/** First the owner: it owns the database and migrates it. What the others may do stands in source/006_grants.sql. */
export const SOURCE_ROLES = [
  // Owns relay_slot_holder(), which tells the processes of the replication slot apart.
  { ...role('notes_owner'), memberOf: ['pg_read_all_stats'] },
  role('notes_write_api'),
  // REPLICATION reads the whole write-ahead log, whatever is granted.
  { ...role('notes_debezium'), replication: true },
  role('notes_watcher'),
  role('notes_operator'),
  // Only for recovering a lost slot, through the operator API.
  { ...role('notes_recovery'), replication: true },
  role('notes_verifier'),
] as const satisfies readonly RoleDefinition[]

/** First the owner. The others: projection/007_grants.sql. */
export const PROJECTION_ROLES = [
  role('projection_owner'),
  role('projection_projector'),
  role('projection_read_api'),
  role('projection_watcher'),
  role('projection_operator'),
  role('projection_verifier'),
] as const satisfies readonly RoleDefinition[]

export type SourceRole = (typeof SOURCE_ROLES)[number]['name']
export type ProjectionRole = (typeof PROJECTION_ROLES)[number]['name']

export type RolesOptions = {
  /** A superuser's URL of the database to be; it need not exist yet. */
  readonly adminUrl: string
  readonly roles: readonly [RoleDefinition, ...RoleDefinition[]]
  readonly passwords: Readonly<Record<string, string>>
}

/**
 * Puts the roles and the database in place: roles that can only log in, the database owned by the first.
 * Changes only what differs; a second run changes nothing.
 * @returns what was changed, one phrase each.
 * @throws Error naming the role when it has no password.
 */
export async function ensureRolesAndDatabase(options: RolesOptions): Promise<readonly string[]> {
  const { adminUrl, roles, passwords } = options
  const database = databaseOf(adminUrl)
  const changes: string[] = []
  await withClient(withDatabase(adminUrl, 'postgres'), 'notes-setup', async (admin) => {
    for (const definition of roles) {
      const password = passwords[definition.name]
      if (!password) throw new Error(`There is no password for the role ${definition.name}.`)
      changes.push(...(await ensureRole(admin, definition, password)))
    }
    const found = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (found.rowCount === 0) {
      const [name, owner] = [database, roles[0].name].map((text) => admin.escapeIdentifier(text))
      await admin.query(`CREATE DATABASE ${name} OWNER ${owner}`)
      changes.push(`database ${database}`)
    }
  })
  for (const { name } of roles) {
    const password = passwords[name] ?? ''
    if (await canLogIn(withRole(adminUrl, { name, password }))) continue
    await withClient(withDatabase(adminUrl, 'postgres'), 'notes-setup', (admin) =>
      admin.query(`ALTER ROLE ${admin.escapeIdentifier(name)} PASSWORD ${admin.escapeLiteral(password)}`),
    )
    changes.push(`password of ${name}`)
  }
  return changes
}

async function ensureRole(admin: pg.Client, definition: RoleDefinition, password: string): Promise<string[]> {
  const changes = await ensureAttributes(admin, definition, password)
  for (const group of definition.memberOf) {
    const { rows } = await admin.query("SELECT pg_has_role($1, $2, 'MEMBER') AS is_member", [
      definition.name,
      group,
    ])
    if (rows[0].is_member) continue
    await admin.query(`GRANT ${admin.escapeIdentifier(group)} TO ${admin.escapeIdentifier(definition.name)}`)
    changes.push(`membership of ${definition.name} in ${group}`)
  }
  return changes
}

async function ensureAttributes(
  admin: pg.Client,
  { name, replication }: RoleDefinition,
  password: string,
): Promise<string[]> {
  const identifier = admin.escapeIdentifier(name)
  const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS ${replication ? '' : 'NO'}REPLICATION`
  const { rows } = await admin.query(
    `SELECT rolcanlogin AND NOT rolsuper AND NOT rolcreatedb AND NOT rolcreaterole AND NOT rolbypassrls
       AND rolreplication = $2 AS as_defined
     FROM pg_roles WHERE rolname = $1`,
    [name, replication],
  )
  if (rows.length === 0) {
    await admin.query(`CREATE ROLE ${identifier} ${attributes} PASSWORD ${admin.escapeLiteral(password)}`)
    return [`role ${name}`]
  }
  if (rows[0].as_defined) return []
  await admin.query(`ALTER ROLE ${identifier} ${attributes}`)
  return [`attributes of ${name}`]
}

/** 28P01: wrong password. Asking the server is the only check that sees what a client would. */
async function canLogIn(url: string): Promise<boolean> {
  try {
    await withClient(url, 'notes-setup', async () => {})
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '28P01') return false
    throw error
  }
}
