import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { writePrivateFile } from '../../../lab/files.ts'
import { markedProcesses } from '../../../lab/marks.ts'
import { FAULT_RUN_MARK, holdsLab, removalRefusal } from '../../../lab/own-folder.ts'
import { isRunning, startTimeOf } from '../../../lab/proc.ts'

/** The runner that made the lab of a folder. */
const Mark = z.object({ pid: z.int(), startTime: z.string() })

const markFile = (dir: string) => path.join(dir, FAULT_RUN_MARK)

/** @throws SyntaxError or ZodError when somebody changed it */
function readMark(dir: string): z.infer<typeof Mark> | undefined {
  try {
    return Mark.parse(JSON.parse(readFileSync(markFile(dir), 'utf8')))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/**
 * Why a fault run may not begin in this folder, for a person: it removes what is there. It may where nothing
 * is, or what an earlier fault run left, running or not. Reads, changes nothing.
 */
export function faultLabRefusal(dir: string): string | undefined {
  const refusal = removalRefusal(dir)
  if (refusal) return refusal
  let mark: z.infer<typeof Mark> | undefined
  try {
    mark = readMark(dir)
  } catch {
    return `${markFile(dir)} cannot be read, so this may be anybody's lab; nothing was removed or stopped. Name another folder, or remove this one yourself.`
  }
  if (mark) {
    const isAtWork = mark.pid !== process.pid && isRunning(mark)
    return isAtWork ? `A fault run is at work in ${dir} (pid ${mark.pid}); nothing was changed.` : undefined
  }
  const { supervisor, parts } = markedProcesses(dir)
  if (!holdsLab(dir) && !supervisor && Object.keys(parts).length === 0) return undefined
  return `${dir} is a lab that no fault run made; nothing was removed or stopped. Name another folder (--lab), or remove this lab yourself: LAB_DIR=${dir} bin/down, then delete the folder.`
}

/** Says that this process's fault run made the lab of this folder and may remove it again. */
export function markFaultLab(dir: string): void {
  mkdirSync(dir, { recursive: true })
  writePrivateFile(
    markFile(dir),
    JSON.stringify({ pid: process.pid, startTime: startTimeOf(process.pid) ?? '' }),
  )
}
