import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CommitGraph, type CommitNode, orderCommits } from '../../../cli/git/order.ts'

/** Any history: commit i has up to three parents among the commits before it. */
const histories = fc
  .array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 40 })
  .map((choices): CommitGraph => {
    const graph = new Map<string, CommitNode>()
    choices.forEach((parents, index) => {
      const names = index === 0 ? [] : [...new Set(parents.map((parent) => `c${parent % index}`))]
      graph.set(`c${index}`, { parents: names, committedAt: index })
    })
    return graph
  })
const tipOf = (graph: CommitGraph): string => `c${graph.size - 1}`
const names = (graph: CommitGraph, tip: string) => orderCommits(graph, tip).map(({ commit }) => commit)

describe('the order in which a history is told', () => {
  test('parents come before children, and every reachable commit exactly once', () => {
    fc.assert(
      fc.property(histories, (graph) => {
        const order = names(graph, tipOf(graph))
        const place = new Map(order.map((commit, index) => [commit, index]))
        expect(place.size).toBe(order.length)
        expect(order.at(-1)).toBe(tipOf(graph))
        for (const [commit, index] of place) {
          for (const parent of graph.get(commit)?.parents ?? []) expect(place.get(parent)).toBeLessThan(index)
        }
      }),
    )
  })

  test('what is old keeps its place when history grows on top or merges something in', () => {
    fc.assert(
      fc.property(histories, fc.array(fc.nat(), { maxLength: 3 }), (graph, merged) => {
        const old = tipOf(graph)
        const others = merged.map((parent) => `c${parent % graph.size}`)
        const grown = new Map(graph).set('new', { parents: [...new Set([old, ...others])], committedAt: 99 })
        const before = names(graph, old)
        expect(names(grown, 'new').slice(0, before.length)).toEqual(before)
      }),
    )
  })

  test('a history of 50,000 commits in a row is no problem', () => {
    const graph = new Map<string, CommitNode>([['c0', { parents: [], committedAt: 0 }]])
    for (let i = 1; i < 50_000; i++) graph.set(`c${i}`, { parents: [`c${i - 1}`], committedAt: i })
    expect(orderCommits(graph, 'c49999')).toHaveLength(50_000)
  })
})
