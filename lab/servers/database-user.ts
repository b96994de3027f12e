import { execFileSync, spawnSync } from 'node:child_process'
import { StartupError } from '../../core/service.ts'

export type DatabaseUser = { readonly name: string; readonly uid: number; readonly gid: number }

const OWN_USER = 'notes-lab'

function lookUp(name: string): DatabaseUser | undefined {
  const ids = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }))
  const [uid, gid] = ids.map((result) => (result.status === 0 ? Number(result.stdout) : Number.NaN))
  return Number.isInteger(uid) && Number.isInteger(gid)
    ? { name, uid: uid as number, gid: gid as number }
    : undefined
}

/**
 * PostgreSQL refuses to run as root. Who runs it then: the machine's user `postgres`, else a system user
 * of our own, made on first use. undefined when the lab itself does not run as root.
 */
export function databaseUser(): DatabaseUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const found = lookUp('postgres') ?? lookUp(OWN_USER)
  if (found) return found
  execFileSync('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', OWN_USER])
  const made = lookUp(OWN_USER)
  if (!made)
    throw new StartupError(`The system user ${OWN_USER} could not be made; PostgreSQL cannot run as root.`)
  return made
}
