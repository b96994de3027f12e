import path from 'node:path'
import { migrate } from 'postgres-migrations'
import { withClient } from './connection.ts'

export type MigratedDatabase = 'source' | 'projection'

/**
 * Applies the numbered SQL files of database/<which> that are not applied yet, in order, each in its own
 * transaction, under an advisory lock. Run as the owner: what they make belongs to it.
 * @returns the names of the files applied now.
 * @throws when a file that was applied has been changed since (its checksum differs): write a new one.
 */
export function migrateDatabase(ownerUrl: string, which: MigratedDatabase): Promise<readonly string[]> {
  return withClient(ownerUrl, 'notes-migrations', async (client) => {
    const applied = await migrate({ client }, path.join(import.meta.dirname, which))
    return applied.filter(({ id }) => id > 0).map(({ fileName }) => fileName)
  })
}
