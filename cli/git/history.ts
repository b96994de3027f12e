import { CliFailure } from '../failure.ts'
import { git, gitRecords } from './git.ts'
import { type CommitGraph, type CommitNode, type OrderedCommit, orderCommits } from './order.ts'
import { type Change, type Touch, TouchReplay } from './touches.ts'

export type HistoryOptions = {
  readonly folder: string
  /** Relative to the folder. */
  readonly isWanted: (path: string) => boolean
  /** A revision (what it reaches is left out) or a date (older commits are left out). */
  readonly since: string | undefined
}

export type History = {
  readonly touches: readonly Touch[]
  /** Paths whose name is not UTF-8: they cannot be told apart in a note id. */
  readonly unreadablePaths: readonly string[]
}

/**
 * Everything the history of HEAD says about the wanted files, oldest first. A folder inside the work tree
 * stands for the part of the repository below it. Renames are a file that ends and another that begins.
 */
export async function readHistory(options: HistoryOptions): Promise<History> {
  const { folder } = options
  const below = await describeRepository(folder, options.since !== undefined)
  const tip = await git(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'])
  if (tip.code !== 0) return { touches: [], unreadablePaths: [] }
  const commits = orderCommits(await readGraph(folder), tip.stdout.trim())
  const isInWindow = await windowOf(folder, options.since)

  const touches: Touch[] = []
  const unreadable = new Set<string>()
  const replay = new TouchReplay()
  const differences = readDifferences(folder, commits, (path) => {
    if (!path.startsWith(below)) return undefined
    const relative = path.slice(below.length)
    return options.isWanted(relative) ? relative : undefined
  })
  for await (const { commit, changes } of differences) {
    const touched = replay.next(commit, changes)
    if (!isInWindow(commit)) continue
    for (const touch of touched) {
      if (touch.path.includes('\uFFFD')) unreadable.add(touch.path)
      else touches.push(touch)
    }
  }
  return { touches, unreadablePaths: [...unreadable] }
}

/** @returns the folder's path inside the repository, with a slash at the end unless it is the top. */
async function describeRepository(folder: string, isPartial: boolean): Promise<string> {
  const prefix = await git(folder, ['rev-parse', '--show-prefix'])
  if (prefix.code !== 0) {
    throw new CliFailure(
      'usage',
      `${folder} is not a git repository that can be read; nothing was imported. git says: ${prefix.said}`,
    )
  }
  const shallow = await git(folder, ['rev-parse', '--is-shallow-repository'])
  if (shallow.stdout.trim() === 'true' && !isPartial) {
    throw new CliFailure(
      'usage',
      `${folder} is a shallow clone: the beginning of its history is missing, so revision numbers would not be those of the whole history. Nothing was imported. Fetch it (git fetch --unshallow), or import a part on purpose with --since.`,
    )
  }
  return prefix.stdout.replace(/\n$/, '')
}

async function readGraph(folder: string): Promise<CommitGraph> {
  const graph = new Map<string, CommitNode>()
  for await (const line of gitRecords(folder, ['rev-list', '--timestamp', '--parents', 'HEAD'], '\n')) {
    const [seconds, commit, ...parents] = line.toString('latin1').split(' ')
    if (commit) graph.set(commit, { parents, committedAt: Number(seconds) })
  }
  return graph
}

async function windowOf(
  folder: string,
  since: string | undefined,
): Promise<(commit: OrderedCommit) => boolean> {
  if (since === undefined) return () => true
  const revision = await git(folder, [
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${since}^{commit}`,
  ])
  const id = revision.stdout.trim().split('\n').at(-1) ?? ''
  if (revision.code === 0 && /^[0-9a-f]{40,64}$/.test(id)) {
    const wanted = new Set<string>()
    for await (const line of gitRecords(folder, ['rev-list', 'HEAD', `^${id}`], '\n')) {
      wanted.add(line.toString('latin1'))
    }
    return ({ commit }) => wanted.has(commit)
  }
  const date = /^\d{4}-\d{2}-\d{2}/.test(since) ? Date.parse(since) : Number.NaN
  if (Number.isNaN(date)) {
    throw new CliFailure(
      'usage',
      `--since ${since} is neither a commit of this repository nor a date such as 2026-01-31 or 2026-01-31T12:00:00Z; nothing was imported.`,
    )
  }
  return ({ committedAt }) => committedAt * 1000 >= date
}

type Differences = { readonly commit: OrderedCommit; readonly changes: readonly (readonly Change[])[] }

/** One line `commit parent` for each comparison; a root commit alone is compared with nothing. */
function* comparisons(commits: readonly OrderedCommit[]): Generator<string> {
  for (const { commit, parents, isMainline } of commits) {
    if (parents.length === 0) yield `${commit}\n`
    // A mainline merge is only compared with its first parent: see TouchReplay.
    for (const parent of isMainline ? parents.slice(0, 1) : parents) yield `${commit} ${parent}\n`
  }
}
const comparisonsOf = ({ parents, isMainline }: OrderedCommit) =>
  isMainline ? 1 : Math.max(1, parents.length)

/**
 * What each commit changed, in the order given, from one `git diff-tree --stdin`. --always makes it name
 * every commit it was asked about, also those without a difference, so that answers can be counted.
 */
async function* readDifferences(
  folder: string,
  commits: readonly OrderedCommit[],
  relativePath: (path: string) => string | undefined,
): AsyncGenerator<Differences> {
  const args = [
    'diff-tree',
    '--stdin',
    '--always',
    '--root',
    '-r',
    '-z',
    '--raw',
    '--no-renames',
    '--no-abbrev',
  ]
  const queue = commits[Symbol.iterator]()
  let current: { commit: OrderedCommit; changes: Change[][] } | undefined
  let meta: string | undefined
  for await (const record of gitRecords(folder, args, '\0', comparisons(commits))) {
    if (meta !== undefined) {
      const path = relativePath(record.toString('utf8'))
      const change = path === undefined ? undefined : changeOf(meta, path)
      if (change) current?.changes.at(-1)?.push(change)
      meta = undefined
    } else if (record[0] === COLON) meta = record.toString('latin1')
    else if (current && current.changes.length < comparisonsOf(current.commit)) current.changes.push([])
    else {
      if (current) yield current
      const commit = queue.next().value
      if (commit?.commit !== record.toString('latin1')) {
        throw new CliFailure(
          'failed',
          'git answered about another commit than it was asked; nothing more was read.',
        )
      }
      current = { commit, changes: [[]] }
    }
  }
  if (current) yield current
}

const COLON = 0x3a
const REGULAR_FILE = /^100/

/** `:<old mode> <new mode> <old blob> <new blob> <status>`. Links and submodules are no files of ours. */
function changeOf(meta: string, path: string): Change | undefined {
  const [oldMode = '', newMode = '', , blob = ''] = meta.slice(1).split(' ')
  if (REGULAR_FILE.test(newMode)) return { path, blob }
  return REGULAR_FILE.test(oldMode) ? { path, blob: null } : undefined
}
