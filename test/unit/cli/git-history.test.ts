import { describe, expect, test } from 'vitest'
import { isMarkdown } from '../../../cli/documents/walk.ts'
import { BlobReader } from '../../../cli/git/blobs.ts'
import { type History, readHistory } from '../../../cli/git/history.ts'
import { GitRepository } from '../../support/git-repository.ts'

const historyOf = (folder: string, since?: string): Promise<History> =>
  readHistory({ folder, isWanted: isMarkdown, since })

/** `path=content` of each touch in order; a deletion is `path-`. */
async function told(repository: GitRepository, options: { folder?: string; since?: string } = {}) {
  const folder = options.folder ?? repository.folder
  const { touches } = await historyOf(folder, options.since)
  await using blobs = new BlobReader(folder, 1_000)
  return Promise.all(
    touches.map(async ({ path, blob }) => {
      if (blob === null) return `${path}-`
      const read = await blobs.read(blob)
      return `${path}=${read.status === 'read' ? read.bytes.toString() : read.status}`
    }),
  )
}

/** What the last touch of each path said must be what HEAD has. */
async function expectTipReached(repository: GitRepository): Promise<void> {
  const { touches } = await historyOf(repository.folder)
  const last = new Map(touches.map(({ path, blob }) => [path, blob]))
  const tree = new Map(
    repository
      .git('ls-tree', '-r', '-z', 'HEAD')
      .split('\0')
      .filter((line) => line.endsWith('.md'))
      .map((line) => [line.split('\t')[1], line.split(' ')[2]?.split('\t')[0]]),
  )
  expect(new Map([...last].filter(([, blob]) => blob !== null))).toEqual(tree)
}

describe('a git history as versions of files', () => {
  test('each commit that touched a file is told in order, files of other kinds are not', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1', 'code.ts': 'x' })
    repository.commit({ 'code.ts': 'y' })
    repository.commit({ 'a.md': '2', 'sub/b.markdown': 'b' })
    repository.commit()
    repository.commit({ 'a.md': '3' })
    expect(await told(repository)).toEqual(['a.md=1', 'a.md=2', 'sub/b.markdown=b', 'a.md=3'])
  })

  test('a deletion ends a file, a return goes on with it, a rename is an end and a beginning', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    repository.commit({ 'a.md': null })
    repository.commit({ 'a.md': '1' })
    repository.rename('a.md', 'moved/b.md')
    repository.commit()
    expect(await told(repository)).toEqual(['a.md=1', 'a.md-', 'a.md=1', 'a.md-', 'moved/b.md=1'])
  })

  test('paths with spaces, quotes, newlines, other scripts and option-like names arrive as they are', async () => {
    using repository = new GitRepository()
    const paths = [
      'a b.md',
      'quo"te\'s.md',
      'new\nline.md',
      'tab\t.md',
      '日本語/ü.md',
      '-rf.md',
      '*.md',
      '$(x).md',
    ]
    repository.commit(Object.fromEntries(paths.map((path) => [path, path])))
    expect(new Set(await told(repository))).toEqual(new Set(paths.map((path) => `${path}=${path}`)))
  })

  test('a change of mode alone is a version with equal content', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    repository.git('update-index', '--chmod=+x', 'a.md')
    repository.git('commit', '--quiet', '--message', 'mode')
    expect(await told(repository)).toEqual(['a.md=1', 'a.md=1'])
  })

  test('symbolic links are no files: one that replaces a file ends it', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1', 'target.txt': 't' })
    repository.remove('a.md')
    repository.git('config', 'core.symlinks', 'true')
    const link = repository.git('hash-object', '-w', 'target.txt')
    repository.git('update-index', '--add', '--cacheinfo', `120000,${link},a.md`)
    repository.git('commit', '--quiet', '--message', 'link')
    expect(await told(repository)).toEqual(['a.md=1', 'a.md-'])
  })

  test('a branch is told before its merge, and a merge without conflict adds nothing', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': 'base', 'b.md': 'base' })
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.commit({ 'b.md': 'side' })
    repository.git('checkout', '--quiet', 'main')
    repository.commit({ 'a.md': 'main' })
    repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'side')
    expect(await told(repository)).toEqual(['a.md=base', 'b.md=base', 'a.md=main', 'b.md=side'])
    await expectTipReached(repository)
  })

  test('a merge that settles a conflict is a version, whether by new text or by keeping ours', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': 'base', 'b.md': 'base' })
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.commit({ 'a.md': 'side', 'b.md': 'side' })
    repository.git('checkout', '--quiet', 'main')
    repository.commit({ 'a.md': 'main', 'b.md': 'main' })
    repository.git('merge', '--quiet', '--no-commit', '--strategy=ours', 'side')
    repository.commit({ 'a.md': 'settled' })
    const all = await told(repository)
    expect(all.slice(-2).sort()).toEqual(['a.md=settled', 'b.md=main'])
    expect(all).toHaveLength(8)
    await expectTipReached(repository)
  })

  test('a conflict settled in a merge on a side branch counts, what that merge only brings over does not', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': 'base', 'b.md': 'base' })
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.commit({ 'a.md': 'side' })
    repository.git('checkout', '--quiet', 'main')
    repository.commit({ 'a.md': 'main', 'b.md': 'main' })
    repository.git('checkout', '--quiet', 'side')
    repository.git('merge', '--quiet', '--no-commit', '--strategy-option=ours', 'main')
    repository.commit({ 'a.md': 'settled' })
    repository.git('checkout', '--quiet', 'main')
    repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'side')
    expect(await told(repository)).toEqual([
      'a.md=base',
      'b.md=base',
      'a.md=main',
      'b.md=main',
      'a.md=side',
      'a.md=settled',
    ])
    await expectTipReached(repository)
  })

  test('versions already told keep their place when a branch is merged later', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.commit({ 'b.md': 'side' })
    repository.git('checkout', '--quiet', 'main')
    repository.commit({ 'a.md': '2' })
    const before = await told(repository)
    repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'side')
    const after = await told(repository)
    expect(after).toEqual([...before, 'b.md=side'])
  })

  test('after branches that merge each other back and forth every last version is that of HEAD', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '0', 'b.md': '0', 'c.md': '0' })
    repository.git('branch', 'side')
    for (let round = 1; round <= 4; round++) {
      repository.commit({ 'a.md': `main ${round}`, [`new-${round}.md`]: 'n' })
      repository.git('checkout', '--quiet', 'side')
      repository.commit({ 'b.md': `side ${round}`, 'c.md': round % 2 ? null : `side ${round}` })
      repository.git('merge', '--quiet', '--no-ff', '--message', 'in', 'main')
      repository.git('checkout', '--quiet', 'main')
      repository.git('merge', '--quiet', '--no-ff', '--message', 'back', 'side', '--strategy-option=ours')
    }
    await expectTipReached(repository)
  })

  test('--since takes a commit or a date; anything else is refused', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    const second = repository.commit({ 'a.md': '2' })
    repository.git('tag', 'v2')
    repository.commit({ 'a.md': '3' })
    expect(await told(repository, { since: second })).toEqual(['a.md=3'])
    expect(await told(repository, { since: 'v2' })).toEqual(['a.md=3'])
    expect(await told(repository, { since: '2026-01-01T00:02:00Z' })).toEqual(['a.md=2', 'a.md=3'])
    await expect(historyOf(repository.folder, 'yesterday-ish')).rejects.toMatchObject({ reason: 'usage' })
    await expect(historyOf(repository.folder, '--all')).rejects.toMatchObject({ reason: 'usage' })
  })

  test('a folder inside the repository stands for what is below it', async () => {
    using repository = new GitRepository()
    repository.commit({ 'top.md': 't', 'docs/a.md': '1', 'docs-other/b.md': 'b' })
    expect(await told(repository, { folder: `${repository.folder}/docs` })).toEqual(['a.md=1'])
  })

  test('a bare repository is read like any other', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    repository.git('clone', '--quiet', '--bare', '.', 'bare.git')
    expect(await told(repository, { folder: `${repository.folder}/bare.git` })).toEqual(['a.md=1'])
  })

  test('a repository without commits has no history; a folder without repository is refused', async () => {
    using repository = new GitRepository()
    expect(await told(repository)).toEqual([])
    await expect(historyOf('/')).rejects.toMatchObject({ reason: 'usage' })
    await expect(historyOf('/no/such/folder')).rejects.toMatchObject({ reason: 'usage' })
  })

  test('a shallow clone is refused, as its numbers would be wrong, unless a part is asked for', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    repository.commit({ 'a.md': '2' })
    repository.git('clone', '--quiet', '--depth=1', `file://${repository.folder}`, 'shallow')
    const folder = `${repository.folder}/shallow`
    await expect(historyOf(folder)).rejects.toMatchObject({ reason: 'usage' })
    expect(await told(repository, { folder, since: '2020-01-01' })).toEqual(['a.md=2'])
  })

  test('a path that is not UTF-8 is named and left out', async () => {
    using repository = new GitRepository()
    repository.commit({ 'a.md': '1' })
    const blob = repository.git('hash-object', '-w', 'a.md')
    const tree = `100644 blob ${blob}\tbad-\xff.md\n`
    repository.writeTree(Buffer.from(tree, 'latin1'))
    const history = await historyOf(repository.folder)
    expect(history.unreadablePaths).toEqual(['bad-\uFFFD.md'])
    expect(history.touches.map(({ path }) => path)).toEqual(['a.md', 'a.md'])
  })

  test('contents arrive whole and in order, large ones are passed over without being kept', async () => {
    using repository = new GitRepository()
    const sizes = [0, 1, 999, 1_000, 1_001, 400_000, 5]
    repository.commit(
      Object.fromEntries(
        sizes.map((size, index) => [`${index}.md`, 'x'.repeat(size).replace(/^x/, String(index))]),
      ),
    )
    const { touches } = await historyOf(repository.folder)
    await using blobs = new BlobReader(repository.folder, 1_000)
    const read = await Promise.all(touches.map(({ blob }) => blobs.read(blob ?? '')))
    expect(read.map((blob) => (blob.status === 'read' ? blob.bytes.length : [blob.size]))).toEqual([
      0,
      1,
      999,
      1_000,
      [1_001],
      [400_000],
      5,
    ])
    await expect(blobs.read('0'.repeat(40))).rejects.toMatchObject({ reason: 'failed' })
  })
})
