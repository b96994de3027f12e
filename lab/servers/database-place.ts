import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { LabError } from '../follow.ts'
import { removalRefusal } from '../own-folder.ts'
import { labPaths } from '../paths.ts'
import type { DatabaseUser } from './database-user.ts'

/** For a lab of root's in a folder that keeps others out, e.g. below /root. */
const OUTSIDE = '/var/lib/notes-lab'

/** Can this user enter the folder? Asked of the kernel, as that user. */
function canEnter({ uid, gid }: DatabaseUser, directory: string): boolean {
  return spawnSync('test', ['-x', directory], { uid, gid, cwd: '/' }).status === 0
}

const outsidePlace = (labDir: string) =>
  path.join(OUTSIDE, createHash('sha256').update(labDir).digest('hex').slice(0, 16))

/**
 * The folder that holds the databases' data folders: inside the lab, or, when PostgreSQL must run as
 * `user` and that user cannot get there, one of this lab's own under /var/lib/notes-lab.
 */
export function databasePlace(labDir: string, user: DatabaseUser | undefined): string {
  const inside = labPaths(labDir).data
  mkdirSync(inside, { recursive: true })
  if (!user || canEnter(user, inside)) return inside
  const outside = outsidePlace(labDir)
  mkdirSync(outside, { recursive: true, mode: 0o755 })
  return outside
}

/**
 * Removes everything of a stopped lab.
 * @throws LabError when the folder holds something else: nothing is removed then.
 */
export function removeLab(labDir: string): void {
  const refusal = removalRefusal(labDir)
  if (refusal) throw new LabError(refusal)
  rmSync(labDir, { recursive: true, force: true })
  rmSync(outsidePlace(labDir), { recursive: true, force: true })
}

/**
 * `program`, or, when `user` cannot get there, its copy in a copied installation under /var/lib/notes-lab.
 * @param program <installation>/bin/<name> inside an npm package
 */
export function reachableProgram(program: string, user: DatabaseUser | undefined): string {
  if (!user || canEnter(user, path.dirname(program))) return program
  const installation = path.resolve(path.dirname(program), '..')
  const { name, version } = JSON.parse(readFileSync(path.join(installation, '..', 'package.json'), 'utf8'))
  const copy = path.join(OUTSIDE, `${path.basename(name)}-${version}`)
  if (!existsSync(copy)) {
    const partial = `${copy}.${process.pid}`
    cpSync(installation, partial, { recursive: true, verbatimSymlinks: true })
    renameSync(partial, copy)
  }
  return path.join(copy, 'bin', path.basename(program))
}
