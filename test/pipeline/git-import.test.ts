import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noteIdForPath } from '../../cli/documents/note-id.ts'
import type { ImportSummary } from '../../cli/import/summary.ts'
import { clientOf } from '../support/client.ts'
import { complete, settledSides, sourceRevisions, sourceTotal } from '../support/consistency.ts'
import { GitRepository } from '../support/git-repository.ts'
import { useLab } from '../support/lab.ts'
import { type MadeHistory, makeHistory } from '../support/made-history.ts'
import { installedMarkdown } from '../support/markdown-files.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctlJson, startNotesctl } from '../support/notesctl.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
const LONG_MS = 300_000
let repository: GitRepository
let history: MadeHistory

const newPrefix = () => uniqueNoteId('git')
const importHistory = (prefix: string) =>
  notesctlJson<ImportSummary>(lab, ['import', '--git', repository.folder, '--prefix', prefix])

beforeAll(async () => {
  repository = new GitRepository()
  history = makeHistory(await installedMarkdown())
  history.writeTo(repository.folder)
})
afterAll(() => repository[Symbol.dispose]())

/** Each note has exactly the revisions its path went through, and readers get the last of them. */
async function expectHistory(prefix: string): Promise<void> {
  const { expected, versionCount } = history
  const wanted = new Map(
    [...expected].map(([path, versions]) => [noteIdForPath(path, prefix), versions.length]),
  )
  expect(await sourceRevisions(lab, prefix)).toEqual(wanted)
  expect(await settledSides(lab, prefix)).toEqual(complete(versionCount))
  for (const [path, versions] of expected) {
    const response = await client.read(`/notes/${noteIdForPath(path, prefix)}?minRevision=${versions.length}`)
    const last = versions.at(-1)
    expect(response.status, path).toBe(last === null ? 410 : 200)
    const shown = (await response.json()) as { body: string; revision: number }
    expect(shown.revision).toBe(versions.length)
    if (last !== null) expect(shown.body, path).toBe(last)
  }
}

describe('importing a git history of more than 1,000 file versions', () => {
  const prefix = newPrefix()

  test('gives each note its exact revision count and last content, withdrawn where the file is gone', {
    timeout: LONG_MS,
  }, async () => {
    expect(history.versionCount).toBeGreaterThan(1_000)
    const summary = await importHistory(prefix)
    expect(summary).toMatchObject({
      found: history.versionCount,
      notes: history.expected.size,
      published: history.versionCount,
      created: history.expected.size,
      failed: 0,
    })
    await expectHistory(prefix)
  })

  test('every revision has the content of its version, in order', async () => {
    const [path, versions] = [...history.expected].sort((a, b) => b[1].length - a[1].length)[0] ?? ['', []]
    const noteId = noteIdForPath(path, prefix)
    const answer = await client.authorized(`/notes/${noteId}/revisions?limit=200`)
    const { revisions } = (await answer.json()) as { revisions: { visibility: string; etag: string }[] }
    revisions.reverse()
    const visibilities = revisions.map((item) => item.visibility)
    expect(visibilities).toEqual(versions.map((content) => (content === null ? 'withdrawn' : 'public')))
    const etags = revisions.map((item) => item.etag.slice(item.etag.indexOf('-')))
    versions.forEach((content, index) => {
      const previous = versions[index - 1]
      if (index > 0) expect(etags[index] === etags[index - 1]).toBe(content === previous)
    })
  })

  test('importing it again adds nothing', { timeout: LONG_MS }, async () => {
    const summary = await importHistory(prefix)
    expect(summary).toMatchObject({ published: 0, unchanged: history.versionCount, failed: 0 })
    await expectHistory(prefix)
  })

  test('killed in the middle, the same command continues it: each revision once', {
    timeout: LONG_MS,
  }, async () => {
    const other = newPrefix()
    const first = startNotesctl(lab, ['import', '--git', repository.folder, '--prefix', other])
    await waitFor('a part of it is saved', async () => (await sourceTotal(lab, other)) >= 300, {
      everyMs: 20,
    })
    first.kill()
    expect((await first.ended).code).toBeNull()
    expect(await sourceTotal(lab, other)).toBeLessThan(history.versionCount)
    const summary = await importHistory(other)
    expect(summary.published + summary.unchanged).toBe(history.versionCount)
    await expectHistory(other)
  })

  test('what the history grows by later is added, and nothing else', { timeout: LONG_MS }, async () => {
    const before = history.versionCount
    const [path = ''] = [...history.expected].find(([, versions]) => versions.at(-1) === null) ?? []
    history.openBranch()
    history.commit(new Map([['late/branch.md', '# Late']]), 'side')
    history.commit(new Map([[path, '# Back again']]))
    history.mergeBranch()
    history.writeTo(repository.folder)
    const summary = await importHistory(prefix)
    expect(summary).toMatchObject({ published: 2, created: 1, unchanged: before, failed: 0 })
    await expectHistory(prefix)
  })
})
