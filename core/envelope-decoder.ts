import avsc from 'avsc'
import { z } from 'zod'
import { isSameSchema, SHIPPED_SCHEMA } from './event-schema.ts'
import { releasedSchemas } from './known-schemas.ts'
import { EventType, LIMITS, type NoteEvent, NoteId, Revision, Visibility } from './note.ts'
import { type RegistryClient, RegistryUnavailable } from './registry.ts'

/** Confluent wire format: byte 0x00, schema id as 4 bytes big endian, Avro body. */
export const WIRE = { magic: 0, headerBytes: 5 } as const

/** Why a value can never be decoded. Stable codes, shown to operators. */
export const UNDECODABLE_REASONS = [
  'null-value',
  'value-too-large',
  'not-wire-format',
  'unknown-schema',
  'foreign-schema',
  'incompatible-schema',
  'unreleased-schema',
  'malformed-avro',
  'invalid-event',
] as const
export type UndecodableReason = (typeof UNDECODABLE_REASONS)[number]

export type Undecodable = {
  readonly status: 'undecodable'
  readonly reason: UndecodableReason
  readonly explanation: string
}
export type Decoded =
  | { readonly status: 'decoded'; readonly event: NoteEvent; readonly schemaId: number }
  | Undecodable

const DecodedEvent = z.object({
  eventId: z.uuid(),
  eventType: EventType,
  noteId: NoteId,
  revision: Revision,
  title: z.string(),
  url: z.string().nullable(),
  type: z.string(),
  body: z.string(),
  visibility: Visibility,
  occurredAt: z.int(),
})

const undecodable = (reason: UndecodableReason, explanation: string): Undecodable => ({
  status: 'undecodable',
  reason,
  explanation,
})

/** The schema id of a wire-format value, or undefined when it is not one. */
export function schemaIdOf(value: Buffer | null): number | undefined {
  if (!value || value.length <= WIRE.headerBytes || value[0] !== WIRE.magic) return undefined
  return value.readInt32BE(1)
}

/** Arrays and maps let a few bytes claim millions of items (an Avro bomb); no event of ours has any. */
function isBounded(type: avsc.Type): boolean {
  if (avsc.Type.isType(type, 'array') || avsc.Type.isType(type, 'map')) return false
  if (avsc.Type.isType(type, 'record')) {
    return (type as avsc.types.RecordType).fields.every((field) => isBounded(field.type))
  }
  if (avsc.Type.isType(type, 'union')) {
    return (type as avsc.types.UnwrappedUnionType).types.every(isBounded)
  }
  return true
}

/** The value may be decodable: its schema has not been asked for yet. */
export type SchemaNotLoaded = { readonly status: 'schema-not-loaded'; readonly schemaId: number }

type Reader = { readonly status: 'usable'; readonly resolver: avsc.Resolver } | Undecodable

/**
 * Decodes values written under any schema of our subject into the event of this version.
 * A registry that is away is not a verdict: `decode` then throws RegistryUnavailable, and the caller waits.
 */
export class EnvelopeDecoder {
  readonly #readerType = avsc.Type.forSchema(JSON.parse(SHIPPED_SCHEMA))
  readonly #readers = new Map<number, Reader>()
  readonly #registry: RegistryClient
  readonly #subject: string
  readonly #released: readonly string[]

  /** @param released the schemas that are believed when the registry names them (core/known-schemas.ts) */
  constructor(registry: RegistryClient, subject: string, released: readonly string[] = releasedSchemas()) {
    this.#registry = registry
    this.#subject = subject
    this.#released = released
  }

  /** @throws RegistryUnavailable when an id not seen before has to be looked up and cannot be. */
  async decode(value: Buffer | null): Promise<Decoded> {
    const decoded = this.tryDecode(value)
    if (decoded.status !== 'schema-not-loaded') return decoded
    const refused = await this.load(decoded.schemaId)
    return refused ?? (this.tryDecode(value) as Decoded)
  }

  /** Decodes without asking the registry; for many records: load the few unknown ids, then try again. */
  tryDecode(value: Buffer | null): Decoded | SchemaNotLoaded {
    if (value === null)
      return undecodable('null-value', 'The record has no value; the outbox never writes one.')
    if (value.length > LIMITS.envelopeBytes) {
      return undecodable(
        'value-too-large',
        `The value has ${value.length} bytes; an envelope has at most ${LIMITS.envelopeBytes}.`,
      )
    }
    const schemaId = schemaIdOf(value)
    if (schemaId === undefined) {
      return undecodable(
        'not-wire-format',
        'The value is not in Confluent wire format (0x00, 4-byte schema id, Avro body).',
      )
    }
    // A registry numbers from 1. Asking for another id can be answered as an error, for which a caller waits.
    if (schemaId < 1) return undecodable('unknown-schema', `No schema can have the id ${schemaId}.`)
    const reader = this.#readers.get(schemaId)
    if (reader === undefined) return { status: 'schema-not-loaded', schemaId }
    if (reader.status === 'undecodable') return reader
    let record: unknown
    try {
      record = this.#readerType.fromBuffer(value.subarray(WIRE.headerBytes), reader.resolver)
    } catch {
      return undecodable('malformed-avro', `The body is not a complete record of schema ${schemaId}.`)
    }
    const event = DecodedEvent.safeParse(record)
    if (!event.success) {
      const issue = event.error.issues[0]
      return undecodable(
        'invalid-event',
        `The event breaks a rule: ${issue?.path.join('.')}: ${issue?.message}.`,
      )
    }
    return { status: 'decoded', event: event.data, schemaId }
  }

  /**
   * Learns a schema, so that values under its id can be decoded; the refusal when there is no such schema.
   * @throws RegistryUnavailable
   */
  async load(schemaId: number): Promise<Undecodable | undefined> {
    const reader = await this.#learn(schemaId)
    return reader.status === 'undecodable' ? reader : undefined
  }

  async #learn(schemaId: number): Promise<Reader> {
    const found = await this.#registry.schemaById(schemaId)
    if (!found.found) {
      // A registry without our subject has lost its data; its "not found" says nothing about this id.
      if (!(await this.#registry.hasSubject(this.#subject))) {
        throw new RegistryUnavailable(
          `The schema registry has no subject ${this.#subject}: it was emptied or never set up.`,
        )
      }
      // Not remembered: the id may be registered later, and a redrive then finds it.
      return undecodable('unknown-schema', `No schema has the id ${schemaId}.`)
    }
    const reader: Reader = await this.#judge(schemaId, found.value)
    this.#readers.set(schemaId, reader)
    return reader
  }

  async #judge(schemaId: number, schema: string): Promise<Reader> {
    const subjects = await this.#registry.subjectsOf(schemaId)
    if (!subjects.includes(this.#subject)) {
      return undecodable(
        'foreign-schema',
        `Schema ${schemaId} does not belong to the subject ${this.#subject}.`,
      )
    }
    try {
      const writerType = avsc.Type.forSchema(JSON.parse(schema))
      if (!isBounded(writerType)) throw new Error('it has an array or a map')
      const resolver = this.#readerType.createResolver(writerType)
      if (this.#released.some((released) => isSameSchema(released, schema)))
        return { status: 'usable', resolver }
      return undecodable(
        'unreleased-schema',
        `The registry has a schema under ${schemaId} that is none of schemas/released: it was changed or restored, or a newer version wrote this. Nothing is read under a schema that nobody released.`,
      )
    } catch (error) {
      return undecodable(
        'incompatible-schema',
        `Schema ${schemaId} cannot be read by this version: ${(error as Error).message}.`,
      )
    }
  }
}
