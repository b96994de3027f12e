import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noteIdForPath } from '../../../cli/documents/note-id.ts'
import type { ImportSummary } from '../../../cli/import/summary.ts'
import { clientOf } from '../../support/client.ts'
import { sourceRevisions } from '../../support/consistency.ts'
import { GitRepository } from '../../support/git-repository.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctlJson } from '../../support/notesctl.ts'

const lab = useLab()
const client = clientOf(lab)
let repository: GitRepository
let prefix: string
let noteId: string

beforeEach(() => {
  repository = new GitRepository()
  prefix = uniqueNoteId('gp')
  noteId = noteIdForPath('a.md', prefix)
})
afterEach(() => repository[Symbol.dispose]())

const importGit = (args: readonly string[] = [], expectedCode = 0) =>
  notesctlJson<ImportSummary>(
    lab,
    ['import', '--git', repository.folder, '--prefix', prefix, ...args],
    expectedCode,
  )
const revisions = async () => (await sourceRevisions(lab, prefix)).get(noteId)
const canonicalBody = async () =>
  ((await (await client.authorized(`/notes/${noteId}`)).json()) as { body: string }).body

describe('notes that a history and somebody else both write', () => {
  test('a foreign revision is never built upon: reported, code 1, the other notes go on', async () => {
    repository.commit({ 'a.md': '1' })
    await importGit()
    expect((await client.save({ noteId, revision: 2, body: 'by hand' })).status).toBe(202)
    repository.commit({ 'a.md': '2' })
    repository.commit({ 'a.md': '3', 'b.md': 'b' })
    const summary = await importGit([], 1)
    expect(summary).toMatchObject({ published: 1, failed: 3 })
    expect(summary.failures[0]).toMatchObject({ path: 'a.md', noteId, reason: 'diverged' })
    expect(await revisions()).toBe(2)
  })

  test('a note edited after its whole history was imported is left alone', async () => {
    repository.commit({ 'a.md': '1' })
    await importGit()
    await client.save({ noteId, revision: 2, body: 'by hand' })
    expect(await importGit()).toMatchObject({ published: 0, unchanged: 1, failed: 0 })
    expect(await canonicalBody()).toBe('by hand')
  })
})

describe('import --git --since', () => {
  test('numbers a new note from 1, and repeating it adds nothing', async () => {
    repository.commit({ 'a.md': '1' })
    const base = repository.commit({ 'a.md': '2' })
    repository.commit({ 'a.md': '3' })
    repository.commit({ 'a.md': '4' })
    expect(await importGit(['--since', base])).toMatchObject({ published: 2, created: 1 })
    expect(await importGit(['--since', base])).toMatchObject({ published: 0, unchanged: 2 })
    expect(await revisions()).toBe(2)
  })

  test('goes on after the canonical revision, whoever made it, and repeating it adds nothing', async () => {
    await client.save({ noteId, revision: 1, body: 'by hand' })
    const base = repository.commit({ 'a.md': '1' })
    repository.commit({ 'a.md': '2' })
    repository.commit({ 'a.md': '2 ' })
    expect(await importGit(['--since', base])).toMatchObject({ published: 2, created: 0 })
    expect(await importGit(['--since', base])).toMatchObject({ published: 0, unchanged: 2 })
    expect(await revisions()).toBe(3)
  })

  test('another window over versions that are there adds only the new ones, also when contents repeat', async () => {
    const first = repository.commit({ 'a.md': 'same' })
    const second = repository.commit({ 'a.md': 'other' })
    repository.commit({ 'a.md': 'same' })
    expect(await importGit()).toMatchObject({ published: 3 })
    repository.commit({ 'a.md': 'other' })
    repository.commit({ 'a.md': 'same' })
    expect(await importGit(['--since', second])).toMatchObject({ published: 2, unchanged: 1 })
    expect(await importGit(['--since', first])).toMatchObject({ published: 0, unchanged: 4 })
    expect(await importGit()).toMatchObject({ published: 0, unchanged: 5 })
    expect(await revisions()).toBe(5)
  })
})

describe('versions that cannot be notes', () => {
  test('are reported in every run and not numbered; the versions around them follow each other', async () => {
    repository.commit({ 'a.md': '1' })
    repository.commit({ 'a.md': Buffer.from([0xff, 0xfe]) })
    repository.commit({ 'a.md': '3' })
    const first = await importGit([], 1)
    expect(first).toMatchObject({ found: 3, published: 2, failed: 1 })
    expect(first.failures).toMatchObject([{ path: 'a.md', reason: 'not-utf8', commit: expect.any(String) }])
    expect(await importGit([], 1)).toMatchObject({ published: 0, unchanged: 2, failed: 1 })
    repository.commit({ 'a.md': '4' })
    expect(await importGit([], 1)).toMatchObject({ published: 1, unchanged: 2, failed: 1 })
    expect(await revisions()).toBe(3)
    expect(await canonicalBody()).toBe('4')
  })
})

test('the history and the folder of one repository are the same notes', async () => {
  repository.commit({ 'a.md': '1' })
  repository.commit({ 'a.md': '2' })
  await importGit()
  const args = ['import', repository.folder, '--prefix', prefix]
  expect(await notesctlJson<ImportSummary>(lab, args)).toMatchObject({ published: 0, unchanged: 1 })
})
