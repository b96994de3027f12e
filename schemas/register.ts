import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { isSameSchema, SHIPPED_SCHEMA } from '../core/event-schema.ts'
import { RegistryClient, RegistryUnavailable } from '../core/registry.ts'

/**
 * BACKWARD_TRANSITIVE: a reader with a new schema can read everything ever written, which a rebuild from
 * the start of the history does. The projector is therefore deployed before the write API.
 */
export const COMPATIBILITY_LEVEL = COMPATIBILITY.BACKWARD_TRANSITIVE

/** The registry holds or refused something; the message says what and what to do. */
export class SchemaRegistrationFailed extends Error {
  override name = 'SchemaRegistrationFailed'
}

export type RegisterSchemasOptions = {
  /** Confluent-compatible API, for Apicurio `…/apis/ccompat/v7`. */
  readonly registryUrl: string
  readonly subject: string
  /** Default: the event schema this version ships. */
  readonly schema?: string
}

export type RegisteredSchema = { readonly status: 'registered' | 'unchanged'; readonly schemaId: number }

/**
 * Sets the subject's compatibility rule, then registers the schema under it. In this order: Apicurio
 * enforces nothing until a rule is set, and the library's register() throws when the subject's level
 * is not the one it is given. Idempotent: a schema that is registered keeps its id.
 * @throws RegistryUnavailable when the registry does not answer; SchemaRegistrationFailed when it refuses.
 */
export async function registerSchemas({
  registryUrl,
  subject,
  schema = SHIPPED_SCHEMA,
}: RegisterSchemasOptions): Promise<RegisteredSchema> {
  const client = new RegistryClient(registryUrl)
  await ensureCompatibility(client, subject)
  if (await client.hasSubject(subject)) {
    const known = await client.idOf(subject, schema)
    if (known.found) return { status: 'unchanged', schemaId: known.value }
  }
  const registry = new SchemaRegistry({ host: registryUrl, retry: { retries: 0 } })
  const registered = await registry
    .register({ type: SchemaType.AVRO, schema }, { subject, compatibility: COMPATIBILITY_LEVEL })
    .catch((error: Error & { status?: number }) => {
      if (!error.status || error.status >= 500) {
        throw new RegistryUnavailable(`The schema registry did not answer: ${error.message}`, {
          cause: error,
        })
      }
      throw new SchemaRegistrationFailed(
        `The registry did not take the schema for ${subject}: ${error.message}. The old schema stays in force. A new field needs a default; run: npm run schemas:check`,
        { cause: error },
      )
    })
  // A registry that knows no rule for a subject without versions learns it now.
  await ensureCompatibility(client, subject)
  const stored = await client.schemaById(registered.id)
  if (!stored.found || !isSameSchema(stored.value, schema)) {
    throw new SchemaRegistrationFailed(
      `The registry answered with id ${registered.id} for ${subject}, but holds another schema there. Nothing may be written with that id; check the registry at ${registryUrl}.`,
    )
  }
  return { status: 'registered', schemaId: registered.id }
}

async function ensureCompatibility(client: RegistryClient, subject: string): Promise<void> {
  const current = await client.compatibilityOf(subject)
  if (current.found && current.value === COMPATIBILITY_LEVEL) return
  await client.setCompatibility(subject, COMPATIBILITY_LEVEL)
}
