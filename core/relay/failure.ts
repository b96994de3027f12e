const MAX_LINE_CHARS = 300

/**
 * The first line of a trace, short enough for a person. Debezium prints its whole offset context into
 * it; the message's end says what is wrong, so a long line loses its middle.
 */
export function firstLineOf(trace: string): string {
  const line = trace.split('\n', 1)[0]?.trim() ?? ''
  if (line.length <= MAX_LINE_CHARS) return line
  const half = (MAX_LINE_CHARS - 3) / 2
  return `${line.slice(0, Math.ceil(half))} … ${line.slice(-Math.floor(half))}`
}

const MAX_CAUSES_CHARS = 2_000

/** The message of a trace and of each cause under it, a line each, without the frames. Pure. */
export function causesOf(trace: string): string {
  const lines = trace
    .split('\n')
    .filter((line, index) => index === 0 || line.startsWith('Caused by:'))
    .map(firstLineOf)
  return [...new Set(lines)].join('\n').slice(0, MAX_CAUSES_CHARS)
}
