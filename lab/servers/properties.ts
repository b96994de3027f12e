const isPlain = (character: string): boolean => character >= ' ' && character <= '~'

/** UTF-16 code units as \uXXXX: Java reads properties files as ISO-8859-1. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\\\')
    .split('')
    .map((unit) => (isPlain(unit) ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))
    .join('')

/** Pure: Java properties text of any values; names are ours and plain. */
export function propertiesText(values: Readonly<Record<string, string | number | boolean>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${escaped(String(value))}\n`)
    .join('')
}
