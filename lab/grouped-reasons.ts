/** How a consumer of the projector begins what it says of a partition; see services/projector/condition.ts. */
const OF_A_PARTITION = /^partition (\d+) (stopped: [a-z-]+|[\s\S]*)/
const BETWEEN = /; (?=partition \d+ (?:stopped: |waits: |looks ))/

/**
 * Pure: the reason of one failing check, for a person. What it says of each partition is put together: the
 * same of several is said once, and of several that are stopped for one reason the first is quoted.
 */
export function groupedReason(reason: string): string {
  const groups = Map.groupBy(reason.split(BETWEEN), (part) => OF_A_PARTITION.exec(part)?.[2] ?? part)
  return [...groups]
    .map(([what, parts]) => {
      const partitions = parts.flatMap((part) => OF_A_PARTITION.exec(part)?.[1] ?? [])
      const [first = ''] = parts
      if (partitions.length < 2) return first
      const all = `partitions ${partitions.join(', ')} ${what.replace(/^looks for its position/, 'look for their position').replace(/^waits: /, 'wait: ')}`
      return what.startsWith('stopped: ') ? `${all}; the first of them: ${first.split(`${what}: `)[1]}` : all
    })
    .join('; ')
}
