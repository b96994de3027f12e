import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A real repository in a temporary folder; removed at the end of `using`. Commit times go up by a minute. */
export class GitRepository implements Disposable {
  readonly folder: string
  #minutes = 0

  constructor() {
    this.folder = mkdtempSync(path.join(tmpdir(), 'notes-git-'))
    this.git('init', '--quiet', '--initial-branch=main')
  }

  git(...args: string[]): string {
    return this.#run(args)
  }

  /** Commits a tree made by hand (input of git mktree), for what no file system would take. */
  writeTree(entries: Uint8Array): void {
    const tree = this.#run(['mktree'], entries)
    this.git('update-ref', 'HEAD', this.git('commit-tree', '-p', 'HEAD', '-m', 'tree', tree))
  }

  #run(args: readonly string[], input: Uint8Array = Buffer.alloc(0)): string {
    const date = new Date(Date.UTC(2026, 0, 1, 0, this.#minutes)).toISOString()
    return execFileSync('git', ['-C', this.folder, ...args], {
      encoding: 'utf8',
      input,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'Ada',
        GIT_AUTHOR_EMAIL: 'ada@example.org',
        GIT_COMMITTER_NAME: 'Ada',
        GIT_COMMITTER_EMAIL: 'ada@example.org',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
      },
    }).trim()
  }

  write(name: string, content: string | Uint8Array): void {
    mkdirSync(path.dirname(path.join(this.folder, name)), { recursive: true })
    writeFileSync(path.join(this.folder, name), content)
  }

  rename(from: string, to: string): void {
    mkdirSync(path.dirname(path.join(this.folder, to)), { recursive: true })
    renameSync(path.join(this.folder, from), path.join(this.folder, to))
  }

  remove(name: string): void {
    rmSync(path.join(this.folder, name))
  }

  /** Writes the files (null removes one), commits everything and returns the commit's id. */
  commit(files: Readonly<Record<string, string | Uint8Array | null>> = {}): string {
    for (const [name, content] of Object.entries(files)) {
      if (content === null) this.remove(name)
      else this.write(name, content)
    }
    this.#minutes++
    this.git('add', '--all')
    this.git('commit', '--quiet', '--allow-empty', '--message', 'change')
    return this.head()
  }

  head(): string {
    return this.git('rev-parse', 'HEAD')
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
