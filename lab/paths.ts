import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

export const REPOSITORY = path.resolve(import.meta.dirname, '..')

/** The folder of the lab that is meant: LAB_DIR, else .lab in the repository. Absolute. */
export function labDirectory(env: NodeJS.ProcessEnv = process.env): string {
  return path.resolve(env.LAB_DIR || path.join(REPOSITORY, '.lab'))
}

/** Pure: why a lab cannot be in this folder, for a person; undefined when it can. */
export function refusedFolder(labDir: string): string | undefined {
  const found = [',', ';'].find((character) => labDir.includes(character))
  if (!found) return undefined
  return `LAB_DIR (${labDir}) holds a "${found}". Kafka and the registry's database would read it as the end of a path; nothing was started. Choose a folder without comma and semicolon.`
}

/** Where things of one lab stand; nothing of a lab is outside its folder but the shared jars. */
export const labPaths = (labDir: string) => ({
  state: path.join(labDir, 'lab.json'),
  clientEnv: path.join(labDir, 'client.env'),
  secrets: path.join(labDir, 'secrets'),
  keys: path.join(labDir, 'keys'),
  config: path.join(labDir, 'config'),
  data: path.join(labDir, 'data'),
  logs: path.join(labDir, 'logs'),
  run: path.join(labDir, 'run'),
})

/** The jars are shared by every lab and clone of this machine that asks for the same versions. */
export function jarsDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const pom = readFileSync(path.join(REPOSITORY, 'lab', 'pom.xml'))
  const hash = createHash('sha256').update(pom).digest('hex').slice(0, 16)
  return path.join(env.XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'notes-lab', hash)
}

/** Unix socket paths end at 107 bytes; a deep lab folder puts its socket under the temporary directory. */
export function controlSocketPath(labDir: string, temporaryDir: string): string {
  const inside = path.join(labDir, 'run', 'control.sock')
  if (Buffer.byteLength(inside) <= 100) return inside
  return path.join(
    temporaryDir,
    `notes-lab-${createHash('sha256').update(labDir).digest('hex').slice(0, 16)}.sock`,
  )
}
