import { execFileSync } from 'node:child_process'
import type { MarkdownFile } from './markdown-files.ts'

/** What a path went through: the contents in order, null for a deletion. */
export type ExpectedNotes = ReadonlyMap<string, readonly (string | null)[]>

/**
 * Builds a history by `git fast-import`, which takes one process for thousands of commits, and keeps its
 * own books of what each path went through: the expectation does not come from the code that is tested.
 */
export class MadeHistory {
  readonly #stream: Buffer[] = []
  readonly #versions = new Map<string, (string | null)[]>()
  /** What a branch did, written into the books when it is merged. */
  #branch: [path: string, content: string | null][] | undefined
  #mark = 0
  readonly #heads = { main: 0, side: 0 }

  get expected(): ExpectedNotes {
    return this.#versions
  }

  get versionCount(): number {
    return [...this.#versions.values()].reduce((sum, versions) => sum + versions.length, 0)
  }

  /** One commit; null deletes. While a branch is open, `on: 'side'` goes there. */
  commit(changes: ReadonlyMap<string, string | null>, on: 'main' | 'side' = 'main'): void {
    this.#start(on, [])
    for (const [path, content] of changes) {
      this.#change(path, content)
      if (on === 'side') this.#branch?.push([path, content])
      else this.#record(path, content)
    }
  }

  rename(from: string, to: string, content: string): void {
    this.commit(
      new Map([
        [from, null],
        [to, content],
      ]),
    )
  }

  openBranch(): void {
    this.#branch = []
    this.#heads.side = this.#heads.main
  }

  /**
   * Merges it into main. `settled` are the conflicts, with their result. A merge commit of fast-import
   * starts from main's tree, so what the branch did is said again.
   */
  mergeBranch(settled: ReadonlyMap<string, string> = new Map()): void {
    const branch = this.#branch ?? []
    this.#start('main', [this.#heads.side])
    const result = new Map<string, string | null>([...branch, ...settled])
    for (const [path, content] of result) this.#change(path, content)
    for (const [path, content] of branch) this.#record(path, content)
    for (const [path, content] of settled) this.#record(path, content)
    this.#branch = undefined
  }

  /** Puts everything so far into the repository, as branch main. */
  writeTo(folder: string): void {
    execFileSync('git', ['-C', folder, 'fast-import', '--quiet', '--force'], {
      input: Buffer.concat(this.#stream),
    })
  }

  #record(path: string, content: string | null): void {
    this.#versions.set(path, [...(this.#versions.get(path) ?? []), content])
  }

  #start(on: 'main' | 'side', merged: readonly number[]): void {
    this.#mark += 1
    const seconds = 1_767_225_600 + this.#mark * 60
    this.#say(`commit refs/heads/${on}\nmark :${this.#mark}\n`)
    this.#say(`committer Ada <ada@example.org> ${seconds} +0000\ndata 6\nchange\n`)
    if (this.#heads[on] > 0) this.#say(`from :${this.#heads[on]}\n`)
    for (const mark of merged) this.#say(`merge :${mark}\n`)
    this.#heads[on] = this.#mark
  }

  #change(path: string, content: string | null): void {
    const quoted = `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
    if (content === null) this.#say(`D ${quoted}\n`)
    else this.#say(`M 100644 inline ${quoted}\ndata ${Buffer.byteLength(content)}\n${content}\n`)
  }

  #say(text: string): void {
    this.#stream.push(Buffer.from(text))
  }
}

const STEPS = 360

/**
 * Over 1,000 versions of 60 files with real text that grows and changes: every step touches three files;
 * now and then a file is deleted and comes back, is renamed, or a branch runs beside and is merged, with a
 * conflict settled by hand.
 */
export function makeHistory(texts: readonly MarkdownFile[]): MadeHistory {
  const history = new MadeHistory()
  const names = texts.slice(0, 60).map((file) => file.path)
  names[0] = 'with space/quo"te.md'
  names[1] = 'deep/日本語/ü\nnewline.md'
  const textOf = (index: number, step: number): string => {
    const lines = (texts[index % texts.length]?.bytes.toString() ?? '').split('\n')
    // Versions repeat once in a while: equal content is a version too.
    const grown = Math.floor(step / 7) * 7
    return lines.slice(0, 3 + (grown % 40)).join('\n')
  }
  const nameAt = (index: number) => names[index % names.length] ?? ''
  for (let step = 0; step < STEPS; step++) {
    const touched = [step * 3, step * 3 + 1, step * 3 + 2]
    history.commit(new Map(touched.map((index) => [nameAt(index), textOf(index, step)])))
    if (step % 40 === 20) {
      const name = nameAt(step * 3)
      history.commit(new Map([[name, null]]))
    }
    if (step % 60 === 30) {
      const index = (step * 3 + 1) % names.length
      const renamed = `moved/${step}/${index}.md`
      history.rename(nameAt(index), renamed, textOf(index, step))
      names[index] = renamed
    }
    if (step % 90 === 45) {
      const [conflict, own] = [nameAt(step), `side/${step}.md`]
      history.openBranch()
      history.commit(
        new Map([
          [own, `# Side ${step}`],
          [conflict, `# Side of ${step}`],
        ]),
        'side',
      )
      history.commit(new Map([[own, `# Side ${step}, again`]]), 'side')
      history.commit(new Map([[conflict, `# Main of ${step}`]]))
      history.mergeBranch(new Map([[conflict, `# Settled ${step}`]]))
    }
  }
  return history
}
