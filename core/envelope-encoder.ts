import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avsc from 'avsc'
import { SHIPPED_SCHEMA } from './event-schema.ts'
import type { NoteEvent } from './note.ts'

/** Encodes events under one known schema id; needs no registry at run time. */
export class EnvelopeEncoder {
  readonly schemaId: number
  readonly #registry: SchemaRegistry

  constructor(schemaId: number) {
    this.schemaId = schemaId
    // Only its encoder is used: the id is put into its cache, so that it never asks a registry.
    this.#registry = new SchemaRegistry({ host: 'http://registry.invalid' })
    this.#registry.cache.setSchema(
      schemaId,
      SchemaType.AVRO,
      avsc.Type.forSchema(JSON.parse(SHIPPED_SCHEMA)) as never,
    )
  }

  encode(event: NoteEvent): Promise<Buffer> {
    return this.#registry.encode(this.schemaId, event)
  }
}
