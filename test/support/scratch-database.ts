import { randomBytes } from 'node:crypto'
import { withClient, withDatabase, withRole } from '../../database/connection.ts'
import { type MigratedDatabase, migrateDatabase } from '../../database/migrate.ts'
import {
  ensureRolesAndDatabase,
  PROJECTION_ROLES,
  type ProjectionRole,
  SOURCE_ROLES,
  type SourceRole,
} from '../../database/roles.ts'
import type { Lab } from './lab.ts'

export type ScratchDatabase<Role extends string> = AsyncDisposable & {
  readonly name: string
  readonly adminUrl: string
  readonly passwords: Readonly<Record<string, string>>
  urlOf(role: Role): string
}

/**
 * A migrated database of its own on the lab's source server, with the same roles, that no connector
 * reads: for tests that write what the pipeline must not see. Dropped at the end, with its slots.
 */
export function scratchSource(lab: Lab): Promise<ScratchDatabase<SourceRole>> {
  return scratch('source', lab.databases.sourceAdmin, lab.databases.source, SOURCE_ROLES)
}

export function scratchProjection(lab: Lab): Promise<ScratchDatabase<ProjectionRole>> {
  return scratch('projection', lab.databases.projectionAdmin, lab.databases.projection, PROJECTION_ROLES)
}

async function scratch<Role extends string>(
  which: MigratedDatabase,
  labAdminUrl: string,
  urls: Readonly<Record<Role, string>>,
  roles: typeof SOURCE_ROLES | typeof PROJECTION_ROLES,
): Promise<ScratchDatabase<Role>> {
  const name = `scratch_${randomBytes(6).toString('hex')}`
  const adminUrl = withDatabase(labAdminUrl, name)
  const passwords = Object.fromEntries(
    Object.entries<string>(urls).map(([role, url]) => [role, decodeURIComponent(new URL(url).password)]),
  )
  await ensureRolesAndDatabase({ adminUrl, roles, passwords })
  const urlOf = (role: string) => withRole(adminUrl, { name: role, password: passwords[role] ?? '' })
  await migrateDatabase(urlOf(roles[0].name), which)
  return {
    name,
    adminUrl,
    passwords,
    urlOf,
    [Symbol.asyncDispose]: () =>
      withClient(withDatabase(labAdminUrl, 'postgres'), 'test', async (client) => {
        await client.query(
          'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1',
          [name],
        )
        await client.query(`DROP DATABASE ${client.escapeIdentifier(name)} WITH (FORCE)`)
      }),
  }
}
