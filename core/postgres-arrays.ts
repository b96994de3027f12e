/**
 * Arrays as parameters in PostgreSQL's binary format, for statements that take thousands of rows: nothing is
 * escaped here or parsed there. The statement must cast the parameter to the array type.
 * Layout: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/adt/arrayfuncs.c (array_recv)
 */
const OID = { bytea: 17, int8: 20, int4: 23, text: 25, timestamptz: 1184, uuid: 2950, pg_lsn: 3220 } as const

const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
const MICROS_TO_2000 = 946_684_800_000_000n

type Element<T> = {
  readonly oid: number
  readonly bytes: (value: T) => number
  readonly write: (buffer: Buffer, at: number, value: T) => void
}

function encode<T>(element: Element<T>, values: readonly (T | null)[]): Buffer {
  const sizes = values.map((value) => (value === null ? NULL_LENGTH : element.bytes(value)))
  const total = sizes.reduce((sum, size) => sum + LENGTH_BYTES + Math.max(size, 0), HEADER_BYTES)
  const buffer = Buffer.allocUnsafe(total)
  buffer.writeInt32BE(1, 0) // dimensions
  buffer.writeInt32BE(sizes.includes(NULL_LENGTH) ? 1 : 0, 4)
  buffer.writeInt32BE(element.oid, 8)
  buffer.writeInt32BE(values.length, 12)
  buffer.writeInt32BE(1, 16) // index of the first element
  let at = HEADER_BYTES
  for (const [index, value] of values.entries()) {
    const size = sizes[index] ?? NULL_LENGTH
    buffer.writeInt32BE(size, at)
    at += LENGTH_BYTES
    if (value === null) continue
    element.write(buffer, at, value)
    at += size
  }
  return buffer
}

/** text[]. A lone surrogate becomes U+FFFD. */
export const textArray = (values: readonly (string | null)[]): Buffer =>
  encode(
    {
      oid: OID.text,
      bytes: (value) => Buffer.byteLength(value),
      write: (buffer, at, value) => buffer.write(value, at),
    },
    values,
  )

/** uuid[] from the usual text form. */
export const uuidArray = (values: readonly (string | null)[]): Buffer =>
  encode(
    {
      oid: OID.uuid,
      bytes: () => 16,
      write: (buffer, at, value) => buffer.write(value.replaceAll('-', ''), at, 16, 'hex'),
    },
    values,
  )

export const byteaArray = (values: readonly (Buffer | null)[]): Buffer =>
  encode(
    {
      oid: OID.bytea,
      bytes: (value) => value.length,
      write: (buffer, at, value) => value.copy(buffer, at),
    },
    values,
  )

export const int4Array = (values: readonly (number | null)[]): Buffer =>
  encode(
    { oid: OID.int4, bytes: () => 4, write: (buffer, at, value) => buffer.writeInt32BE(value, at) },
    values,
  )

/** int8[] from safe integers. */
export const int8Array = (values: readonly (number | null)[]): Buffer =>
  encode(
    {
      oid: OID.int8,
      bytes: () => 8,
      write: (buffer, at, value) => buffer.writeBigInt64BE(BigInt(value), at),
    },
    values,
  )

/** pg_lsn[] from WAL positions as safe integers. */
export const lsnArray = (values: readonly (number | null)[]): Buffer =>
  encode(
    {
      oid: OID.pg_lsn,
      bytes: () => 8,
      write: (buffer, at, value) => buffer.writeBigUInt64BE(BigInt(value), at),
    },
    values,
  )

/** timestamptz[] from microseconds since 1970 UTC, safe integers. */
export const timestampArray = (values: readonly (number | null)[]): Buffer =>
  encode(
    {
      oid: OID.timestamptz,
      bytes: () => 8,
      write: (buffer, at, value) => buffer.writeBigInt64BE(BigInt(value) - MICROS_TO_2000, at),
    },
    values,
  )
