import { isTransientDatabaseError, type Pool } from '../../core/database.ts'
import { isSameSchema, SHIPPED_SCHEMA } from '../../core/event-schema.ts'
import { rememberedSchemaId } from '../../core/known-schemas.ts'
import type { Logger } from '../../core/log.ts'
import { type RegistryClient, RegistryUnavailable } from '../../core/registry.ts'
import { StartupError } from '../../core/service.ts'

type Parts = {
  readonly registry: RegistryClient
  readonly pool: Pool
  readonly subject: string
  readonly logger: Logger
}

/**
 * The id under which this version's event schema is registered: what goes into every envelope. Asked of
 * the registry and kept in the source database; when the registry is away, the kept one is used. Either
 * way the schema behind the id is compared with the file this version ships.
 * @throws StartupError when the id is unknown or belongs to another schema: envelopes would be unreadable.
 */
export async function learnSchemaId(parts: Parts): Promise<number> {
  const { subject, pool, logger } = parts
  let learned: Learned | RegistryUnavailable
  try {
    learned = await askRegistry(parts)
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error
    learned = error
  }
  if (learned instanceof RegistryUnavailable) {
    const schemaId = await rememberedId(pool, subject, learned)
    logger.warn({ err: learned, schemaId }, 'the schema registry is away; using the id learned earlier')
    return schemaId
  }
  await remember(parts, learned)
  logger.info({ schemaId: learned.schemaId, subject }, 'the event schema is registered')
  return learned.schemaId
}

type Learned = { readonly schemaId: number; readonly schema: string }

async function askRegistry({ registry, subject }: Parts): Promise<Learned> {
  const id = await registry.idOf(subject, SHIPPED_SCHEMA)
  if (!id.found) {
    throw new StartupError(
      `The schema registry does not have this version's event schema (schemas/note-revision.avsc) under the subject ${subject}; consumers could not read what would be written. Register it (bin/up does), then start again.`,
    )
  }
  const schema = await registry.schemaById(id.value)
  if (!schema.found || !isSameSchema(schema.value, SHIPPED_SCHEMA)) {
    throw new StartupError(
      `The schema registry names id ${id.value} for the event schema of ${subject}, but holds ${schema.found ? 'another schema' : 'nothing'} under that id; consumers could not read what would be written. Check the registry, then start again.`,
    )
  }
  return { schemaId: id.value, schema: schema.value }
}

async function rememberedId(pool: Pool, subject: string, cause: RegistryUnavailable): Promise<number> {
  const known = await rememberedSchemaId(pool, subject)
  if (known === undefined) {
    throw new StartupError(
      `The schema registry is away (${cause.message}), and this source database has never learned the id of this version's event schema (subject ${subject}); without the id no envelope can be written. Start the registry, register the schema (bin/up does both), then start again.`,
    )
  }
  return known
}

/** Keeps what the registry said. A database that is away is no reason not to start: the next start asks again. */
async function remember({ pool, subject, logger }: Parts, { schemaId, schema }: Learned): Promise<void> {
  try {
    const { rows } = await pool.query<{ schema: string }>(
      `WITH added AS (
         INSERT INTO known_schemas (subject, schema_id, schema) VALUES ($1, $2, $3)
         ON CONFLICT (subject, schema_id) DO UPDATE SET learned_at = now())
       SELECT schema FROM known_schemas WHERE subject = $1 AND schema_id = $2`,
      [subject, schemaId, schema],
    )
    // Kept from an earlier start: the row this statement adds itself is not in its snapshot.
    if (rows[0] && !isSameSchema(rows[0].schema, SHIPPED_SCHEMA)) {
      throw new StartupError(
        `The schema registry names id ${schemaId} for the event schema of ${subject}, but that id was another schema when this source database learned it: the registry was rebuilt with other ids, and envelopes already written under ${schemaId} would be misread. Restore the registry's data, then start again.`,
      )
    }
  } catch (error) {
    if (!isTransientDatabaseError(error)) throw error
    logger.warn({ err: error }, 'the source database is away; the schema id will be kept at a later start')
  }
}
