import { z } from 'zod'

/** Thrown at start when the environment is not usable; the message names every problem, one a line. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** host:port, comma-separated. */
const brokers = z
  .string()
  .transform((text) => text.split(',').map((item) => item.trim()))
  .pipe(z.array(z.string().regex(/^[^\s,:]+:\d{1,5}$/, 'must be host:port, comma-separated')).min(1))
const port = z.coerce.number().int().min(0).max(65535)
const days = z.coerce.number().int().min(1).max(36_500)
const httpUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/$/, ''))
const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })

/**
 * Every environment variable of every process, with its meaning and default. docs/configuration.md is
 * printed from here (`npm run docs:configuration`), and a test keeps the two equal.
 */
export const VARIABLES = {
  HOST: z.string().default('127.0.0.1').describe('Address the HTTP server binds to.'),
  PORT: port.describe('Port of the HTTP server (API, or /livez, /readyz and /metrics only).'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Least severe level that is logged.'),
  SOURCE_DATABASE_URL: postgresUrl.describe('Source PostgreSQL, with the role of this process.'),
  PROJECTION_DATABASE_URL: postgresUrl.describe('Projection PostgreSQL, with the role of this process.'),
  SOURCE_ADMIN_DATABASE_URL: postgresUrl.describe(
    'Source PostgreSQL as a superuser, with the name of the database to be (setup only).',
  ),
  PROJECTION_ADMIN_DATABASE_URL: postgresUrl.describe(
    'Projection PostgreSQL as a superuser, with the name of the database to be (setup only).',
  ),
  ROLE_PASSWORDS_FILE: z
    .string()
    .min(1)
    .describe('JSON file of role names and their passwords, which setup gives to the roles.'),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(200).default(10).describe('Connections per pool.'),
  KAFKA_BROKERS: brokers.describe('Kafka bootstrap servers, host:port, comma-separated.'),
  KAFKA_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,249}$/)
    .default('notes.revisions')
    .describe('Topic of the note revisions.'),
  CONSUMER_GROUP_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/)
    .default('notes')
    .describe(
      'Start of the consumer group names: <prefix>-catalog-<generation>, <prefix>-audit, and <prefix>-audit-<generation> for its later generations.',
    ),
  CATALOG_AFTER_QUARANTINE: z
    .enum(['continue', 'hold'])
    .default('continue')
    .describe(
      'After a record that catalog cannot apply: continue shows newer revisions of its note, hold keeps them back until an operator has redriven or discarded it, and then applies them in order.',
    ),
  SCHEMA_REGISTRY_URL: httpUrl.describe('Confluent-compatible API of the schema registry.'),
  RELEASED_SCHEMAS_FOLDER: z
    .string()
    .optional()
    .describe(
      'Folder of the released event schemas: a record is read only under one of them, whatever the registry says. Without it: schemas/released of this version.',
    ),
  SCHEMA_SUBJECT: z.string().default('notes.revisions-value').describe('Subject of the event schema.'),
  CONNECT_URL: httpUrl.describe('REST API of Kafka Connect.'),
  CONNECTOR_NAME: z.string().default('notes-outbox').describe('Name of the Debezium connector.'),
  RELAY_SLOT_NAME: z
    .string()
    .regex(/^[a-z0-9_]{1,63}$/)
    .default('notes_outbox')
    .describe('Logical replication slot of the relay.'),
  SOURCE_VERIFIER_DATABASE_URL: postgresUrl.describe(
    'Source PostgreSQL with a role that may only read, for comparing both sides.',
  ),
  PROJECTION_VERIFIER_DATABASE_URL: postgresUrl.describe(
    'Projection PostgreSQL with a role that may only read, for comparing both sides.',
  ),
  RELAY_RECOVERY_DATABASE_URL: postgresUrl.describe(
    'Source PostgreSQL with the role that may make the replication slot anew.',
  ),
  CONSOLE_URL: httpUrl.describe('Operator API, as operators reach it.'),
  WRITE_API_URL: httpUrl.describe('Write API, as clients reach it.'),
  READ_API_URL: httpUrl.describe('Public read API, as readers reach it.'),
  PROJECTOR_URL: httpUrl.describe('/readyz and /metrics of the projector, for hints of notesctl.'),
  WRITE_RATE_LIMIT_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(2_000)
    .describe('Requests per second and token subject that the write API takes; above it answers 429.'),
  READ_RATE_LIMIT_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(2_000)
    .describe(
      'Requests per second and client address that the public read API takes; above it answers 429. Behind a proxy all clients have its address: set it to what the proxy may send.',
    ),
  CONSOLE_RATE_LIMIT_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(100)
    .describe('Requests per second and token subject that the operator API takes; above it answers 429.'),
  RETENTION_ENVELOPE_DAYS: days
    .default(60)
    .describe(
      'An envelope is kept at least so long; then it is pruned once every consumer has applied it (docs/retention.md).',
    ),
  RETENTION_RECEIPT_DAYS: days
    .default(14)
    .describe('A request receipt is kept so long: at least 7, at most RETENTION_ENVELOPE_DAYS.'),
  RETENTION_RESTORE_DAYS: days
    .default(7)
    .describe(
      'Age of the oldest backup of the projection that may be restored: at most RETENTION_ENVELOPE_DAYS, and what Kafka keeps.',
    ),
  RETENTION_ROWS_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1_000)
    .describe('Rows that a run of retention changes a second, at most.'),
  AUTH_ISSUER: z.string().min(1).describe('Required iss of every token.'),
  AUTH_AUDIENCE: z.string().min(1).describe('Required aud of every token.'),
  AUTH_JWKS: z.string().min(1).describe('JSON Web Key Set: an http(s) URL or the path of a file.'),
  AUTH_PRIVATE_KEY: z
    .string()
    .min(1)
    .describe('Path of the private JWK with which notesctl signs its own tokens (lab only).'),
  NOTES_TOKEN: z.string().min(1).describe('Bearer token notesctl sends instead of signing one.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'OpenTelemetry collector that takes OTLP over HTTP; spans go to its /v1/traces. Without this and the next one nothing is traced.',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl
    .optional()
    .describe('Whole address that takes spans, instead of the one above.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf'])
    .default('http/protobuf')
    .describe('How spans are sent; there is one way.'),
  OTEL_SERVICE_NAME: z
    .string()
    .min(1)
    .optional()
    .describe('service.name of the spans, instead of notes- and the name of the process.'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe('Which traces are recorded. A consumer records only those that the write API did.'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of the traces that the samplers with traceidratio take.'),
  OTEL_BSP_SCHEDULE_DELAY: z.coerce
    .number()
    .int()
    .min(1)
    .max(60_000)
    .default(5_000)
    .describe('Milliseconds that ended spans wait at most to be sent together.'),
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'])
    .default('false')
    .describe('true: nothing is traced, whatever else is set.'),
} as const

export type VariableName = keyof typeof VARIABLES

/** OpenTelemetry's own names (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). */
export const TRACING_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_BSP_SCHEDULE_DELAY',
  'OTEL_SDK_DISABLED',
] as const satisfies readonly VariableName[]

/** Which variables each process reads: what its main.ts asks for and docs/configuration.md prints. */
export const PROCESS_VARIABLES = {
  'write-api': [
    'HOST',
    'PORT',
    'LOG_LEVEL',
    'SOURCE_DATABASE_URL',
    'DATABASE_POOL_SIZE',
    'SCHEMA_REGISTRY_URL',
    'SCHEMA_SUBJECT',
    'READ_API_URL',
    'WRITE_RATE_LIMIT_PER_SECOND',
    'AUTH_ISSUER',
    'AUTH_AUDIENCE',
    'AUTH_JWKS',
    ...TRACING_VARIABLES,
  ],
  projector: [
    'HOST',
    'PORT',
    'LOG_LEVEL',
    'PROJECTION_DATABASE_URL',
    'DATABASE_POOL_SIZE',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'CONSUMER_GROUP_PREFIX',
    'CATALOG_AFTER_QUARANTINE',
    'SCHEMA_REGISTRY_URL',
    'SCHEMA_SUBJECT',
    'RELEASED_SCHEMAS_FOLDER',
    ...TRACING_VARIABLES,
  ],
  'read-api': [
    'HOST',
    'PORT',
    'LOG_LEVEL',
    'PROJECTION_DATABASE_URL',
    'DATABASE_POOL_SIZE',
    'KAFKA_TOPIC',
    'WRITE_API_URL',
    'READ_RATE_LIMIT_PER_SECOND',
    ...TRACING_VARIABLES,
  ],
  console: [
    'HOST',
    'PORT',
    'LOG_LEVEL',
    'SOURCE_DATABASE_URL',
    'PROJECTION_DATABASE_URL',
    'SOURCE_VERIFIER_DATABASE_URL',
    'PROJECTION_VERIFIER_DATABASE_URL',
    'RELAY_RECOVERY_DATABASE_URL',
    'DATABASE_POOL_SIZE',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'CONSUMER_GROUP_PREFIX',
    'READ_API_URL',
    'SCHEMA_SUBJECT',
    'CONNECT_URL',
    'CONNECTOR_NAME',
    'RELAY_SLOT_NAME',
    'RETENTION_ENVELOPE_DAYS',
    'RETENTION_RECEIPT_DAYS',
    'RETENTION_RESTORE_DAYS',
    'RETENTION_ROWS_PER_SECOND',
    'CONSOLE_RATE_LIMIT_PER_SECOND',
    'AUTH_ISSUER',
    'AUTH_AUDIENCE',
    'AUTH_JWKS',
    ...TRACING_VARIABLES,
  ],
  watcher: [
    'HOST',
    'PORT',
    'LOG_LEVEL',
    'SOURCE_DATABASE_URL',
    'PROJECTION_DATABASE_URL',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'CONNECT_URL',
    'CONNECTOR_NAME',
    'RELAY_SLOT_NAME',
  ],
  setup: [
    'SOURCE_ADMIN_DATABASE_URL',
    'PROJECTION_ADMIN_DATABASE_URL',
    'ROLE_PASSWORDS_FILE',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'SCHEMA_REGISTRY_URL',
    'SCHEMA_SUBJECT',
    'CONNECT_URL',
    'CONNECTOR_NAME',
    'RELAY_SLOT_NAME',
  ],
  notesctl: [
    'WRITE_API_URL',
    'READ_API_URL',
    'PROJECTOR_URL',
    'CONSOLE_URL',
    'NOTES_TOKEN',
    'AUTH_PRIVATE_KEY',
    'AUTH_ISSUER',
    'AUTH_AUDIENCE',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'SCHEMA_REGISTRY_URL',
    'SCHEMA_SUBJECT',
    'CONNECT_URL',
    'CONNECTOR_NAME',
    'RELAY_SLOT_NAME',
    'SOURCE_DATABASE_URL',
    'PROJECTION_DATABASE_URL',
  ],
} as const satisfies Record<string, readonly VariableName[]>

export type ProcessName = keyof typeof PROCESS_VARIABLES

type ConfigOf<Name extends VariableName> = { [K in Name]: z.output<(typeof VARIABLES)[K]> }
export type TracingConfig = ConfigOf<(typeof TRACING_VARIABLES)[number]>

/**
 * Reads the named variables from `env`.
 * @throws ConfigError naming every missing or wrong variable. Values are not echoed: they may be secrets.
 */
export function loadConfig<Name extends VariableName>(
  names: readonly Name[],
  env: NodeJS.ProcessEnv = process.env,
): ConfigOf<Name> {
  const shape = Object.fromEntries(names.map((name) => [name, VARIABLES[name]]))
  const present = Object.fromEntries(names.filter((name) => env[name]).map((name) => [name, env[name]]))
  const parsed = z.object(shape).safeParse(present)
  if (parsed.success) return parsed.data as ConfigOf<Name>
  const problems = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]) as VariableName
    const what = name in present ? issue.message : 'is not set'
    return `  ${name}: ${what}. ${VARIABLES[name].description ?? ''}`
  })
  throw new ConfigError(
    `The configuration cannot be used; nothing was started. Set these environment variables (docs/configuration.md):\n${[...new Set(problems)].join('\n')}`,
  )
}
