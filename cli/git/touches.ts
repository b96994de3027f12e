import type { OrderedCommit } from './order.ts'

/** How one path differs between a commit and one of its parents. `blob` null: no regular file any more. */
export type Change = { readonly path: string; readonly blob: string | null }

/** A commit gave a path this content (`blob`), or took the file away (null): the path's next revision. */
export type Touch = { readonly commit: string; readonly path: string; readonly blob: string | null }

/**
 * Turns commits in order into touches.
 *
 * A commit with one parent touches what it changed. A merge says nothing new about most files: what its
 * branches did has been told by their own commits. It touches a path
 *   - on the mainline, when the path is not as the merge has it after all commits before it were told (a
 *     conflict resolved by hand, or "ours" over a branch that changed it): so after every mainline commit
 *     each path's last touch is exactly that commit's tree;
 *   - on a branch, when the result is none of its parents'.
 */
export class TouchReplay {
  /** What the last touch of each path said. */
  readonly #state = new Map<string, string | null>()
  /** For paths touched by branch commits since the last mainline commit: what the mainline had. */
  readonly #mainlineHad = new Map<string, string | null>()

  /** @param changes one list per parent, in the parents' order; for a root commit one list, against nothing. */
  next(commit: OrderedCommit, changes: readonly (readonly Change[])[]): Touch[] {
    const touched = this.#touchedBy(commit, changes)
    for (const { path, blob } of touched) {
      if (!commit.isMainline && !this.#mainlineHad.has(path)) this.#mainlineHad.set(path, this.#at(path))
      this.#state.set(path, blob)
    }
    if (commit.isMainline) this.#mainlineHad.clear()
    return touched.map(({ path, blob }) => ({ commit: commit.commit, path, blob }))
  }

  #touchedBy(commit: OrderedCommit, changes: readonly (readonly Change[])[]): readonly Change[] {
    const [first = [], ...others] = changes
    if (commit.parents.length <= 1) return first
    if (commit.isMainline) {
      const wanted = new Map<string, string | null>(this.#mainlineHad)
      for (const { path, blob } of first) wanted.set(path, blob)
      return [...wanted]
        .map(([path, blob]) => ({ path, blob }))
        .filter(({ path, blob }) => this.#at(path) !== blob)
    }
    const changedAgainst = others.map((list) => new Set(list.map((change) => change.path)))
    return first.filter(({ path }) => changedAgainst.every((paths) => paths.has(path)))
  }

  #at(path: string): string | null {
    return this.#state.get(path) ?? null
  }
}
