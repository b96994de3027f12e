import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noteIdForPath } from '../../cli/documents/note-id.ts'
import type { ImportSummary } from '../../cli/import/summary.ts'
import { LIMITS } from '../../core/note.ts'
import { complete, settledSides, sourceRevisions, sourceTotal } from '../support/consistency.ts'
import { useLab } from '../support/lab.ts'
import { installedMarkdown, type MarkdownFile } from '../support/markdown-files.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl, notesctlJson, startNotesctl } from '../support/notesctl.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const LONG_MS = 300_000
let files: readonly MarkdownFile[]
let folder: string
/** All of them, in a folder of their own. */
let source: string

/** Short enough for a prefix, new in every run. */
const newPrefix = () => uniqueNoteId('im')

beforeAll(async () => {
  // A package may ship a file that no note can hold; those have a test of their own below.
  files = (await installedMarkdown()).filter(({ bytes }) => bytes.length <= LIMITS.bodyBytes)
  folder = mkdtempSync(path.join(tmpdir(), 'notes-import-'))
  source = copyOf(files)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A folder of its own with some of the real files; named node_modules, so that packages within packages count. */
function copyOf(some: readonly MarkdownFile[]): string {
  const copy = path.join(mkdtempSync(path.join(folder, 'copy-')), 'node_modules')
  for (const file of some) {
    mkdirSync(path.dirname(path.join(copy, file.path)), { recursive: true })
    writeFileSync(path.join(copy, file.path), file.bytes)
  }
  return copy
}

const expectComplete = async (prefix: string, revisions: number) =>
  expect(await settledSides(lab, prefix)).toEqual(complete(revisions))

describe('importing the Markdown of the installed npm packages', () => {
  const prefix = newPrefix()

  test('at least 200 real notes are at the read API, byte for byte as in the files', {
    timeout: LONG_MS,
  }, async () => {
    const summary = await notesctlJson<ImportSummary>(lab, [
      'import',
      source,
      '--prefix',
      prefix,
      '--wait-visible',
    ])
    expect(files.length).toBeGreaterThanOrEqual(200)
    expect(summary).toMatchObject({
      found: files.length,
      published: files.length,
      created: files.length,
      failed: 0,
    })
    expect(summary.visibility).toMatchObject({ visible: files.length, notVisible: 0 })
    for (const file of files) {
      const response = await fetch(`${lab.addresses.readApiUrl}/notes/${noteIdForPath(file.path, prefix)}`)
      const note = (await response.json()) as { body: string }
      expect(Buffer.from(note.body).equals(file.bytes), file.path).toBe(true)
    }
  })

  test('importing them again adds nothing', { timeout: LONG_MS }, async () => {
    const before = await sourceTotal(lab, prefix)
    const summary = await notesctlJson<ImportSummary>(lab, ['import', source, '--prefix', prefix])
    expect(summary).toMatchObject({ published: 0, unchanged: files.length, failed: 0 })
    expect(await sourceTotal(lab, prefix)).toBe(before)
    await expectComplete(prefix, files.length)
  })

  test('a journey names place and time of every step of one of them', async () => {
    const { lastNote } = await notesctlJson<ImportSummary>(lab, [
      'import',
      source,
      '--prefix',
      prefix,
      '--glob',
      'zod/README.md',
    ])
    const journey = await waitFor('the relay has confirmed it', async () => {
      const found = await notesctlJson<Record<string, unknown>>(lab, ['journey', `${lastNote?.noteId}:1`])
      return found.confirmed ? found : false
    })
    expect(journey).toMatchObject({
      revision: 1,
      committed: { at: expect.any(String) },
      kafka: {
        topic: 'notes.revisions',
        partition: expect.any(Number),
        offset: expect.stringMatching(/^\d+$/),
      },
      audit: { seenAt: expect.any(String) },
      catalog: { appliedAt: expect.any(String) },
      visible: { as: 'public', shownRevision: 1 },
      gaps: [],
    })
  })
})

describe('importing again', () => {
  test('only what changed is published, as the next revision, and new files as new notes', async () => {
    const prefix = newPrefix()
    const some = files.slice(0, 12)
    const copy = copyOf(some)
    await notesctlJson(lab, ['import', copy, '--prefix', prefix])
    const changed = some[5]?.path ?? ''
    writeFileSync(path.join(copy, changed), '# Changed\r\n\u{1F600} \u202Ebidi\n')
    writeFileSync(path.join(copy, 'new.md'), '')
    const summary = await notesctlJson<ImportSummary>(lab, [
      'import',
      copy,
      '--prefix',
      prefix,
      '--wait-visible',
    ])
    expect(summary).toMatchObject({ published: 2, created: 1, unchanged: 11, failed: 0 })
    const revisions = await sourceRevisions(lab, prefix)
    expect(revisions.get(noteIdForPath(changed, prefix))).toBe(2)
    expect([...revisions.values()].filter((count) => count > 1)).toHaveLength(1)
    await expectComplete(prefix, 14)
  })

  test('files that cannot be notes are reported and the rest is imported, with exit code 1', async () => {
    const prefix = newPrefix()
    const copy = copyOf(files.slice(0, 3))
    writeFileSync(path.join(copy, 'latin1.md'), Buffer.from([0x23, 0x20, 0xe9]))
    writeFileSync(path.join(copy, 'nul.md'), 'a\0b')
    writeFileSync(path.join(copy, 'large.md'), 'x'.repeat(524_289))
    writeFileSync(path.join(copy, 'largest.md'), '\u{1F600}'.repeat(131_072))
    writeFileSync(path.join(copy, 'private.md'), '---\nvisibility: private\n---\n# Not for readers\n')
    writeFileSync(
      path.join(copy, 'broken.md'),
      '---\ntitle: "a\nvisibility: withdrawn\n---\n# Not for readers\n',
    )
    const summary = await notesctlJson<ImportSummary>(lab, ['import', copy, '--prefix', prefix], 1)
    expect(summary).toMatchObject({ found: 9, published: 4, failed: 5 })
    expect(Object.fromEntries(summary.failures.map(({ path: name, reason }) => [name, reason]))).toEqual({
      'latin1.md': 'not-utf8',
      'nul.md': 'contains-nul',
      'large.md': 'too-large',
      'private.md': 'unknown-visibility',
      'broken.md': 'unreadable-front-matter',
    })
    const { stdout } = await notesctl(lab, ['import', copy, '--prefix', prefix])
    expect(stdout).toContain('not imported: latin1.md: It is not UTF-8 text.')
    await expectComplete(prefix, 4)
  })

  test('a killed import is continued by the same command: nothing twice, nothing missing', async () => {
    const prefix = newPrefix()
    const first = startNotesctl(lab, ['import', source, '--prefix', prefix, '--concurrency', '2'])
    await waitFor('a part of it is saved', async () => (await sourceTotal(lab, prefix)) >= 40, {
      everyMs: 20,
    })
    first.kill()
    expect((await first.ended).code).toBeNull()
    const part = await sourceTotal(lab, prefix)
    expect(part).toBeLessThan(files.length)
    const summary = await notesctlJson<ImportSummary>(lab, ['import', source, '--prefix', prefix])
    expect(summary.published + summary.unchanged).toBe(files.length)
    expect(new Set((await sourceRevisions(lab, prefix)).values())).toEqual(new Set([1]))
    await expectComplete(prefix, files.length)
  })
})

describe('importing while parts of the pipeline die', () => {
  test('kill -9 of the projector and of Connect loses nothing and doubles nothing', {
    timeout: LONG_MS,
  }, async () => {
    const prefix = newPrefix()
    const running = startNotesctl(lab, ['import', source, '--prefix', prefix, '--concurrency', '2', '--json'])
    const imported = async (count: number) =>
      waitFor(`${count} are saved`, async () => (await sourceTotal(lab, prefix)) >= count, { everyMs: 20 })
    await imported(30)
    await lab.kill('projector')
    await imported(100)
    await lab.kill('connect')
    await imported(200)
    await lab.waitReady('projector')
    await lab.kill('projector')
    const end = await running.ended
    expect(end.code, end.stderr).toBe(0)
    await Promise.all([lab.waitReady('projector'), lab.waitReady('connect')])
    await expectComplete(prefix, files.length)
  })

  test('kill -9 of the write API: the import waits for it and goes on', { timeout: LONG_MS }, async () => {
    const prefix = newPrefix()
    const running = startNotesctl(lab, ['import', source, '--prefix', prefix, '--json'])
    await waitFor('a part of it is saved', async () => (await sourceTotal(lab, prefix)) >= 50, {
      everyMs: 20,
    })
    await lab.kill('write-api')
    const end = await running.ended
    expect(end.code, end.stderr).toBe(0)
    expect(JSON.parse(end.stdout)).toMatchObject({ published: files.length, failed: 0 })
    expect(new Set((await sourceRevisions(lab, prefix)).values())).toEqual(new Set([1]))
    await expectComplete(prefix, files.length)
  })
})
