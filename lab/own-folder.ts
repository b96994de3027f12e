import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { labPaths } from './paths.ts'

/** Written by a fault run into the lab it makes; see test/faults/stage/own-mark.ts. */
export const FAULT_RUN_MARK = 'fault-run.json'

/** What a lab, and nobody else, writes into its folder, the first of it before anything is started. */
const MARKS = [
  'lab.json',
  FAULT_RUN_MARK,
  path.join('secrets', 'passwords.json'),
  ...['maven.log', 'supervisor.log', 'up.log'].map((name) => path.join('logs', name)),
]

const isOwn = (labDir: string): ((entry: string) => boolean) => {
  const own = new Set([...Object.values(labPaths(labDir)).map((file) => path.basename(file)), FAULT_RUN_MARK])
  // A file is written beside itself first; a killed writer leaves that.
  return (entry) => own.has(entry.replace(/\.\d+\.tmp$/, ''))
}

type Folder =
  | { readonly kind: 'empty' }
  | { readonly kind: 'lab'; readonly foreign: readonly string[] }
  | { readonly kind: 'foreign'; readonly entries: readonly string[] }
  | { readonly kind: 'no-folder' }

function lookAt(labDir: string): Folder {
  let entries: string[]
  try {
    entries = readdirSync(labDir, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() || readdirSync(path.join(labDir, entry.name)).length > 0)
      .map(({ name }) => name)
      .toSorted()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return { kind: 'empty' }
    if (code === 'ENOTDIR') return { kind: 'no-folder' }
    throw error
  }
  if (entries.length === 0) return { kind: 'empty' }
  if (!MARKS.some((mark) => existsSync(path.join(labDir, mark)))) return { kind: 'foreign', entries }
  const own = isOwn(labDir)
  return { kind: 'lab', foreign: entries.filter((entry) => !own(entry)) }
}

const some = (entries: readonly string[]) =>
  entries.slice(0, 5).join(', ') + (entries.length > 5 ? ', ...' : '')

/**
 * Why nothing may be removed from this folder, for a person; undefined when it is absent, empty, or holds a
 * lab and nothing besides. Reads the folder, changes nothing.
 */
export function removalRefusal(labDir: string): string | undefined {
  const found = lookAt(labDir)
  switch (found.kind) {
    case 'empty':
      return undefined
    case 'no-folder':
      return `${labDir} is no folder; nothing was changed.`
    case 'foreign':
      return `${labDir} holds no lab but something else (${some(found.entries)}); nothing was removed or stopped. Name an empty or a new folder, or the folder of a lab.`
    case 'lab':
      if (found.foreign.length === 0) return undefined
      return `${labDir} holds what is no part of its lab (${some(found.foreign)}); nothing was removed or stopped. Move it elsewhere first.`
  }
}

/** Was a lab ever started in this folder, whether anything of it runs or not? */
export const holdsLab = (labDir: string): boolean => lookAt(labDir).kind === 'lab'

/** Why no lab may be made in this folder, for a person: a lab's own folders would mix with what is there. */
export function startRefusal(labDir: string): string | undefined {
  const found = lookAt(labDir)
  if (found.kind === 'no-folder') return `${labDir} is no folder; nothing was started.`
  if (found.kind !== 'foreign') return undefined
  return `${labDir} holds no lab but something else (${some(found.entries)}); nothing was started. A lab needs a folder of its own: name an empty or a new one.`
}
