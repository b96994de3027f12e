import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Pool } from './database.ts'
import { isSameSchema, SHIPPED_SCHEMA } from './event-schema.ts'

/**
 * The id under which this version's event schema goes into an envelope, as a write API learned it last from the
 * registry; undefined when none has yet. The newest look counts, not the highest number: a registry that was
 * restored can number from the start again.
 */
export async function rememberedSchemaId(source: Pool, subject: string): Promise<number | undefined> {
  const { rows } = await source.query<{ schema_id: number; schema: string }>(
    `SELECT schema_id, schema FROM known_schemas WHERE subject = $1 ORDER BY learned_at DESC, schema_id DESC`,
    [subject],
  )
  return rows.find((row) => isSameSchema(row.schema, SHIPPED_SCHEMA))?.schema_id
}

const RELEASED = path.join(import.meta.dirname, '../schemas/released')

/**
 * The schemas that a reader believes in: every released one, and the one this version ships. What a registry says
 * is held against them: one that was restored, or set up anew, can name another schema under an id, and bytes that
 * were written under one schema can decode under another, into something that nobody wrote.
 * @param folder default: schemas/released
 */
export function releasedSchemas(folder: string = RELEASED): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.avsc'))
  return [...files.map((file) => readFileSync(path.join(folder, file), 'utf8')), SHIPPED_SCHEMA]
}
