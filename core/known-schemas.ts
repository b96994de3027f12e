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
