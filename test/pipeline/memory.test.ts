import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { ImportSummary } from '../../cli/import/summary.ts'
import { SERVICES } from '../../lab/names.ts'
import { readLabState } from '../../lab/state.ts'
import { useLab } from '../support/lab.ts'
import { installedMarkdown } from '../support/markdown-files.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctlJson } from '../support/notesctl.ts'
import { waitScale } from '../support/wait.ts'

const lab = useLab()
const NOTES = 10_000
const NOTE_CHARS_MAX = 20_000

/** Resident memory in MB; a page that n processes share, such as Node's own code, counts 1/n in each. */
function proportionalMb(pid: number): number {
  const line = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))
  if (!line) throw new Error(`/proc/${pid}/smaps_rollup has no Pss`)
  return Number(line[1]) / 1024
}

test('write API, projector, read API and watcher together hold at most 400 MB after an import of 10,000 notes', {
  timeout: 600_000 * waitScale,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'notes-memory-'))
  try {
    const texts = (await installedMarkdown()).map(({ bytes }) =>
      bytes.toString('utf8').slice(0, NOTE_CHARS_MAX),
    )
    for (let number = 0; number < NOTES; number++) {
      const directory = path.join(folder, String(number % 100))
      mkdirSync(directory, { recursive: true })
      writeFileSync(path.join(directory, `${number}.md`), `# ${number}\n\n${texts[number % texts.length]}`)
    }
    // Fresh processes: what other tests left in them is not this import's.
    for (const service of SERVICES) await lab.restart(service)
    for (const service of SERVICES) await lab.waitReady(service)
    const summary = await notesctlJson<ImportSummary>(lab, [
      ...['import', folder, '--prefix', uniqueNoteId('memory'), '--wait-visible'],
    ])
    expect(summary).toMatchObject({ published: NOTES, failed: 0 })
    expect(summary.visibility).toMatchObject({ visible: NOTES })
    const state = readLabState(lab.dir)
    const held = Object.fromEntries(
      SERVICES.map((service) => [service, proportionalMb(state?.processes[service]?.pid ?? 0)]),
    )
    const totalMb = Object.values(held).reduce((sum, mb) => sum + mb, 0)
    expect(totalMb, JSON.stringify(held)).toBeLessThanOrEqual(400)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
