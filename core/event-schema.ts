import { readFileSync } from 'node:fs'
import avsc from 'avsc'

/** The event schema this version ships, as text. */
export const SHIPPED_SCHEMA = readFileSync(new URL('../schemas/note-revision.avsc', import.meta.url), 'utf8')

/** Same schema, whatever its spacing, documentation or order of JSON keys? */
export function isSameSchema(a: string, b: string): boolean {
  return canonical(a) === canonical(b)
}
const canonical = (schema: string) =>
  JSON.stringify(avsc.Type.forSchema(JSON.parse(schema, withoutDoc)).schema({ exportAttrs: true }))
const withoutDoc = (name: string, value: unknown) => (name === 'doc' ? undefined : value)
