import { renameSync, writeFileSync } from 'node:fs'

/** Replaces a file in one step, readable by its owner only: a reader sees the old or the new one, whole. */
export function writePrivateFile(file: string, content: string): void {
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, content, { mode: 0o600 })
  renameSync(temporary, file)
}
