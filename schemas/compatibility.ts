import avsc from 'avsc'
import { isSameSchema } from '../core/event-schema.ts'

/** One rule that a schema breaks, for a person. */
export type SchemaProblem = string

/** A released version as it stands in schemas/released. */
export type Release = { readonly file: string; readonly schema: string }

/** Any object in a schema; which members it has is what is asked. */
type Node = {
  readonly [Member in 'name' | 'type' | 'doc' | 'fields' | 'items' | 'values' | 'logicalType']?: unknown
}
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every named field of a schema with its path, nested records included. */
function fieldsOf(schema: unknown, path = ''): { path: string; field: Node }[] {
  if (Array.isArray(schema)) return schema.flatMap((branch) => fieldsOf(branch, path))
  if (!isNode(schema)) return []
  const fields = Array.isArray(schema.fields) ? (schema.fields as Node[]) : []
  return [
    ...fields.flatMap((field) => {
      const own = path ? `${path}.${field.name}` : String(field.name)
      return [{ path: own, field }, ...fieldsOf(field.type, own)]
    }),
    ...fieldsOf(schema.items, path),
    ...fieldsOf(schema.values, path),
    ...(isNode(schema.type) ? fieldsOf(schema.type, path) : []),
  ]
}

/** The type names and logical types within one field, without those of nested records' fields. */
function typesOf(type: unknown): { names: string[]; logical: string[] } {
  if (Array.isArray(type)) {
    const all = type.map(typesOf)
    return { names: all.flatMap((one) => one.names), logical: all.flatMap((one) => one.logical) }
  }
  if (!isNode(type)) return { names: [String(type)], logical: [] }
  const inner = isNode(type.type) ? typesOf(type.type) : { names: [String(type.type)], logical: [] }
  const logical = typeof type.logicalType === 'string' ? [type.logicalType] : []
  return { names: inner.names, logical: [...inner.logical, ...logical] }
}

/**
 * What is wrong with a schema as the next version after `releases` (oldest first). Pure. Backward and
 * transitive: a reader with it must read everything ever written. avsc decides that by building the
 * resolver a reader would use; two rules more are ours, since a resolver ignores them: a logical type
 * keeps its meaning, and nothing has unbounded parts.
 */
export function problemsOf(working: string, releases: readonly Release[]): readonly SchemaProblem[] {
  let type: avsc.Type
  try {
    type = avsc.Type.forSchema(JSON.parse(working))
  } catch (error) {
    return [`It is not an Avro schema: ${(error as Error).message}`]
  }
  const fields = fieldsOf(JSON.parse(working))
  return [
    ...fields
      .filter(({ field }) => typeof field.doc !== 'string' || field.doc.trim() === '')
      .map(({ path }) => `Field ${path} has no documentation ("doc").`),
    ...fields
      .filter(({ field }) => typesOf(field.type).names.some((name) => name === 'array' || name === 'map'))
      .map(
        ({ path }) =>
          `Field ${path} is an array or a map: a few bytes can claim millions of items, and readers refuse such a schema.`,
      ),
    ...releases.flatMap((release) => incompatibilities(type, fields, release)),
    ...wentBack(working, releases),
  ]
}

function incompatibilities(
  type: avsc.Type,
  fields: readonly { path: string; field: Node }[],
  { file, schema }: Release,
): SchemaProblem[] {
  try {
    type.createResolver(avsc.Type.forSchema(JSON.parse(schema)))
  } catch (error) {
    return [
      `Records of ${file} could not be read any more: ${(error as Error).message}. A new field needs a default, a released one keeps its name and type.`,
    ]
  }
  const before = new Map(fieldsOf(JSON.parse(schema)).map(({ path, field }) => [path, field]))
  return fields.flatMap(({ path, field }) => {
    const old = before.get(path)
    if (!old) return []
    const [was, is] = [typesOf(old.type).logical.join(), typesOf(field.type).logical.join()]
    return was === is
      ? []
      : [
          `Field ${path} means ${was || 'a plain value'} in ${file} and ${is || 'a plain value'} now: old records would be misread without an error. Add a new field instead.`,
        ]
  })
}

function wentBack(working: string, releases: readonly Release[]): SchemaProblem[] {
  const newest = releases.at(-1)
  if (!newest || isSameSchema(working, newest.schema)) return []
  const older = releases.find(({ schema }) => isSameSchema(working, schema))
  return older ? [`It is ${older.file} again, but ${newest.file} is released: go on from the newest.`] : []
}

/** `next` is the version number that the working schema will have when it is released. */
export type ReleaseState =
  | { readonly state: 'released'; readonly file: string }
  | { readonly state: 'unreleased'; readonly next: number }

/** Pure: is the working schema the newest release, or a change on its way? */
export function releaseStateOf(working: string, releases: readonly Release[]): ReleaseState {
  const newest = releases.at(-1)
  return newest && isSameSchema(working, newest.schema)
    ? { state: 'released', file: newest.file }
    : { state: 'unreleased', next: releases.length + 1 }
}
