import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type WalkOptions, walk } from '../../../cli/documents/walk.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'notes-walk-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function files(...names: string[]): void {
  for (const name of names) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), 'x')
  }
}

async function found(options: Partial<WalkOptions> = {}, below = '.'): Promise<string[]> {
  const all: string[] = []
  for await (const item of walk(path.join(folder, below), { globs: [], includeHidden: false, ...options })) {
    all.push(item.kind === 'file' ? item.path : `${item.kind}:${item.path}`)
  }
  return all
}

describe('finding files', () => {
  test('all Markdown files in a stable order, whatever the case of their ending', async () => {
    files('b.md', 'a/z.MD', 'a/y.markdown', 'a/x.txt', 'md')
    expect(await found()).toEqual(['a/y.markdown', 'a/z.MD', 'b.md'])
  })

  test('hidden names and node_modules only on request, .git never', async () => {
    files('a.md', '.hidden/b.md', 'node_modules/p/c.md', '.git/d.md')
    expect(await found()).toEqual(['a.md'])
    expect(await found({ includeHidden: true })).toEqual(['.hidden/b.md', 'a.md', 'node_modules/p/c.md'])
  })

  test('node_modules itself is taken with the packages nested in it', async () => {
    files('node_modules/p/a.md', 'node_modules/p/node_modules/q/b.md')
    expect(await found({}, 'node_modules')).toEqual(['p/a.md', 'p/node_modules/q/b.md'])
  })

  test('a glob is matched against the whole relative path', async () => {
    files('a.md', '2026/01/b.md', '2026/c.txt')
    expect(await found({ globs: ['2026/**'] })).toEqual(['2026/01/b.md', '2026/c.txt'])
    expect(await found({ globs: ['*.md', '**/*.txt'] })).toEqual(['2026/c.txt', 'a.md'])
  })

  test('symbolic links are named and not followed, also those in a circle', async () => {
    files('real/a.md')
    symlinkSync('real/a.md', path.join(folder, 'link.md'))
    symlinkSync('.', path.join(folder, 'circle'))
    symlinkSync('/nowhere', path.join(folder, 'dangling'))
    expect(await found()).toEqual(['symbolic-link:circle', 'symbolic-link:link.md', 'real/a.md'])
  })
})
