import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FAULT_RUN_MARK, removalRefusal, startRefusal } from '../../../lab/own-folder.ts'
import { startTimeOf } from '../../../lab/proc.ts'
import { removeLab } from '../../../lab/servers/database-place.ts'
import { startLab } from '../../../lab/start.ts'
import { startFaultLab } from '../../faults/stage/fault-lab.ts'
import { faultLabRefusal, markFaultLab } from '../../faults/stage/own-mark.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'own-folder-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function put(...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(path.dirname(path.join(dir, file)), { recursive: true })
    writeFileSync(path.join(dir, file), '{}')
  }
}
const LAB = [
  'lab.json',
  'client.env',
  'secrets/passwords.json',
  'data/kafka/meta.properties',
  'logs/kafka.log',
]
const nothing = () => {}

describe('a folder that holds something else', () => {
  test.each([
    { what: 'a document', files: ['letter.txt'] },
    { what: 'a hidden file', files: ['.profile'] },
    { what: 'folders called as a lab calls its own', files: ['data/photo.jpg', 'logs/mine.log'] },
  ])('is neither removed nor made a lab: $what', async ({ files }) => {
    put(...files)
    expect(removalRefusal(dir)).toContain('holds no lab but something else')
    expect(() => removeLab(dir)).toThrow('nothing was removed')
    await expect(startLab(dir)).rejects.toThrow('nothing was started')
    await expect(startFaultLab(dir, nothing)).rejects.toThrow('nothing was removed')
    for (const file of files) expect(existsSync(path.join(dir, file))).toBe(true)
    expect(readdirSync(dir)).toHaveLength(files.length)
  })

  test('beside a lab is not removed either; the lab may be started', () => {
    put(...LAB, 'letter.txt')
    expect(removalRefusal(dir)).toContain('no part of its lab (letter.txt)')
    expect(() => removeLab(dir)).toThrow('letter.txt')
    expect(existsSync(path.join(dir, 'lab.json'))).toBe(true)
    expect(startRefusal(dir)).toBeUndefined()
  })

  test('a file is no folder', () => {
    put('file')
    expect(removalRefusal(path.join(dir, 'file'))).toContain('is no folder')
    expect(startRefusal(path.join(dir, 'file'))).toContain('is no folder')
  })
})

describe('removed are', () => {
  test.each([
    { what: 'a lab', files: LAB },
    { what: 'a lab whose lab.json is gone', files: LAB.slice(1) },
    { what: 'a lab that never got further than its jars', files: ['logs/maven.log'] },
    { what: 'what a killed writer left', files: ['lab.json', 'lab.json.4711.tmp'] },
    { what: 'nothing', files: [] },
  ])('$what', ({ files }) => {
    put(...files)
    mkdirSync(path.join(dir, 'data'), { recursive: true })
    expect(startRefusal(dir)).toBeUndefined()
    removeLab(dir)
    expect(existsSync(dir)).toBe(false)
    expect(removalRefusal(dir)).toBeUndefined()
  })
})

describe('a fault run', () => {
  test('leaves a lab alone that no fault run made', async () => {
    put(...LAB)
    await expect(startFaultLab(dir, nothing)).rejects.toThrow('a lab that no fault run made')
    rmSync(path.join(dir, 'lab.json'))
    expect(faultLabRefusal(dir)).toContain('a lab that no fault run made')
    expect(existsSync(path.join(dir, 'client.env'))).toBe(true)
  })

  test('begins where nothing is, and where an earlier one was', () => {
    expect(faultLabRefusal(dir)).toBeUndefined()
    expect(faultLabRefusal(path.join(dir, 'new'))).toBeUndefined()
    markFaultLab(dir)
    put(...LAB)
    expect(faultLabRefusal(dir)).toBeUndefined()
  })

  test('does not begin where another one is at work', () => {
    const other = { pid: process.ppid, startTime: startTimeOf(process.ppid) }
    writeFileSync(path.join(dir, FAULT_RUN_MARK), JSON.stringify(other))
    expect(faultLabRefusal(dir)).toContain(`A fault run is at work in ${dir} (pid ${process.ppid})`)
    writeFileSync(path.join(dir, FAULT_RUN_MARK), JSON.stringify({ ...other, startTime: '1' }))
    expect(faultLabRefusal(dir)).toBeUndefined()
    writeFileSync(path.join(dir, FAULT_RUN_MARK), 'x')
    expect(faultLabRefusal(dir)).toContain('cannot be read')
  })
})
