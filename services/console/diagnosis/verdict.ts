import type { Finding, Verdict } from './contract.ts'
import { counted } from './symptoms.ts'

const RANK: Readonly<Record<Finding['severity'], number>> = { critical: 0, warning: 1, note: 2 }

/** Critical ones first; among equals the order in which they were recognised: a cause before what follows. Pure. */
export const inOrderOfWeight = (findings: readonly Finding[]): readonly Finding[] =>
  findings.toSorted((a, b) => RANK[a.severity] - RANK[b.severity])

/**
 * One line over everything that was found. Pure. What could not be read is not in order, whatever else is.
 * @param findings by weight, @param whenInOrder said when none of them is more than a note
 */
export function verdictOf(
  findings: readonly Finding[],
  unknown: readonly { readonly part: string }[],
  whenInOrder: string,
): Verdict {
  const [first, ...others] = findings.filter(({ severity }) => severity !== 'note')
  const unread = unknown.length > 0 ? ` Unknown: ${unknown.map(({ part }) => part).join(', ')}.` : ''
  if (!first) {
    if (!unread) return { status: 'in-order', text: whenInOrder }
    return { status: 'attention', text: `Nothing was found in what could be read.${unread}` }
  }
  const more = others.length > 0 ? ` And ${counted(others.length, 'more finding')}.` : ''
  return {
    status: first.severity === 'critical' ? 'critical' : 'attention',
    text: `${first.summary}${more}${unread}`,
  }
}
