import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'

/** Replaces a file in one step, readable by its owner only: a reader sees the old or the new one, whole. */
export function writePrivateFile(file: string, content: string): void {
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, content, { mode: 0o600 })
  renameSync(temporary, file)
}

/** Makes a folder with just these rights, also when it is there with more; somebody else's stays as it is. */
export function ensureFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true })
  try {
    chmodSync(folder, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
