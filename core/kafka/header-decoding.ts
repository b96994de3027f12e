import { createRequire } from 'node:module'

/** One header as it lies in the record. */
export type Header = { readonly key: string; readonly value: Buffer | null }

const ENTRIES = Symbol('headers in order')

/**
 * kafkajs 2.2.4 builds a record's headers by copying the object for every header (the costliest part of
 * decoding a record), loses their order and that of repeated names, and mixes names such as "constructor"
 * with what every object inherits. Its decoder reduces what readVarIntArray returns, and uses that function
 * for nothing else: here it gets something that reduces itself, to the same shape, with the entries kept.
 */
export function keepHeaderOrder(): void {
  const require = createRequire(import.meta.url)
  const Decoder = require('kafkajs/src/protocol/decoder')
  const read = Decoder.prototype.readVarIntArray
  if (Decoder.prototype[ENTRIES]) return
  Decoder.prototype[ENTRIES] = true
  Decoder.prototype.readVarIntArray = function (this: unknown, reader: unknown) {
    const entries = read.call(this, reader) as Header[]
    return { reduce: () => toHeaders(entries) }
  }
}

function toHeaders(entries: readonly Header[]): Record<string | symbol, unknown> {
  const headers: Record<string | symbol, unknown> = {}
  for (const { key, value } of entries) {
    if (!Object.hasOwn(headers, key)) define(headers, key, value)
    else if (Array.isArray(headers[key])) (headers[key] as unknown[]).push(value)
    else headers[key] = [headers[key], value]
  }
  headers[ENTRIES] = entries
  return headers
}

/** Assigning to this one name would set the prototype. */
function define(headers: Record<string | symbol, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') headers[key] = value
  else Object.defineProperty(headers, key, { value, enumerable: true, writable: true, configurable: true })
}

/** The headers of a fetched message in the record's order. */
export const headersInOrder = (headers: object | undefined): readonly Header[] =>
  (headers as { [ENTRIES]?: readonly Header[] } | undefined)?.[ENTRIES] ?? []
