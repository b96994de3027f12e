/** Control characters of a terminal: text of other people must not move the cursor or set colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Text of unknown origin, safe to print: control characters become visible escapes. */
export const printable = (text: string): string =>
  text.replaceAll(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Results go to stdout: lines for people, or JSON, one value a line. Everything else goes to stderr. */
export class Output {
  readonly isJson: boolean

  constructor(isJson: boolean) {
    this.isJson = isJson
  }

  /** @param lines called only when people read; already made printable by the caller where needed */
  result(value: unknown, lines: () => string | readonly string[]): void {
    if (this.isJson) this.#write(JSON.stringify(value))
    else this.#write([lines()].flat().join('\n'))
  }

  note(text: string): void {
    process.stderr.write(`${printable(text)}\n`)
  }

  #write(text: string): void {
    if (text !== '') process.stdout.write(`${text}\n`)
  }
}

/** `1 note`, `2 notes`. @param plural where an s does not make it */
export const counted = (count: number, one: string, plural = `${one}s`): string =>
  `${count} ${count === 1 ? one : plural}`

/** A recorded value as text: members by name, items apart by semicolons. */
export function valueText(value: unknown): string {
  if (value === null) return 'none'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join('; ')
  if (typeof value !== 'object') return String(value)
  return Object.entries(value)
    .map(([name, member]) => `${name} ${valueText(member)}`)
    .join(', ')
}

/** Rows as aligned columns; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length)
    })
  }
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
