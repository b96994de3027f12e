/**
 * A position in PostgreSQL's write-ahead log as a number that can be compared.
 * @param text as PostgreSQL prints it: `16/B374D848`
 * @throws when it is not one
 */
export function parseLsn(text: string): bigint {
  const match = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i.exec(text)
  if (!match) throw new Error(`not a WAL position: ${text}`)
  return (BigInt(`0x${match[1]}`) << 32n) | BigInt(`0x${match[2]}`)
}

/** Prints as PostgreSQL does: `16/B374D848`. */
export const formatLsn = (lsn: bigint): string =>
  `${(lsn >> 32n).toString(16)}/${(lsn & 0xffffffffn).toString(16)}`.toUpperCase()
