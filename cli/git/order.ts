/** One commit as git knows it. `committedAt` in seconds since 1970 UTC. */
export type CommitNode = { readonly parents: readonly string[]; readonly committedAt: number }
export type CommitGraph = ReadonlyMap<string, CommitNode>

export type OrderedCommit = CommitNode & {
  readonly commit: string
  /** On the chain of first parents of the tip: the branch that was there before each merge. */
  readonly isMainline: boolean
}

/**
 * Every commit reachable from the tip, parents before children: first everything the first parent reaches,
 * then what each further parent adds, then the commit itself.
 *
 * The order of what is old never changes when history grows: while the old tip stays on the chain of first
 * parents (commits on top, merges into this branch), the new order begins with the whole old order. So the
 * k-th commit that touched a file stays the k-th, and numbering survives a resumed or later import. Order
 * by date or git's own --topo-order do not have this property: a merged branch would slip in between.
 */
export function orderCommits(graph: CommitGraph, tip: string): OrderedCommit[] {
  const mainline = new Set<string>()
  for (let commit: string | undefined = tip; commit !== undefined && graph.has(commit); ) {
    mainline.add(commit)
    commit = graph.get(commit)?.parents[0]
  }
  const ordered: OrderedCommit[] = []
  const seen = new Set<string>([tip])
  // Depth first, children of the search being the parents; a list instead of recursion, histories are deep.
  const path: { readonly commit: string; next: number }[] = [{ commit: tip, next: 0 }]
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const node = graph.get(top.commit)
    const parent = node?.parents[top.next]
    if (parent !== undefined) {
      top.next += 1
      if (seen.has(parent) || !graph.has(parent)) continue
      seen.add(parent)
      path.push({ commit: parent, next: 0 })
      continue
    }
    path.pop()
    if (node) ordered.push({ ...node, commit: top.commit, isMainline: mainline.has(top.commit) })
  }
  return ordered
}
