import type { QuarantineEntry, WholeQuarantined } from './http/quarantine.ts'
import { columns, counted, printable } from './output.ts'

const nameOf = ({ noteId, revision }: QuarantineEntry): string =>
  noteId === null ? '(no note)' : `${noteId}:${revision ?? '?'}`

/** One record as two lines: what it is, why it lies there. */
export const entryLines = (entry: QuarantineEntry): string[] =>
  [
    `${entry.id}  ${entry.state}  ${entry.consumer} ${entry.generation}  ${nameOf(entry)}  ${entry.reason}  since ${entry.firstAt}`,
    `  ${entry.resolution ?? entry.explanation}${entry.heldBy ? ` Held by record ${entry.heldBy}.` : ''}`,
  ].map(printable)

const BYTES_A_LINE = 16
/** Of a value, unless all of it is asked for. */
const SHOWN_BYTES = 256

/** Bytes as `hexdump -C` prints them. */
export function hexLines(bytes: Buffer, shown: number = SHOWN_BYTES): string[] {
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, shown); at += BYTES_A_LINE) {
    const row = bytes.subarray(at, Math.min(at + BYTES_A_LINE, shown))
    const hex = row.toString('hex').replaceAll(/../g, '$& ')
    const text = row.toString('latin1').replaceAll(/[^\x20-\x7e]/g, '.')
    lines.push(`  ${at.toString(16).padStart(8, '0')}  ${hex.padEnd(BYTES_A_LINE * 3)} |${text}|`)
  }
  const left = bytes.length - shown
  return left > 0 ? [...lines, `  ... ${left} bytes more; --all-bytes or --json shows them`] : lines
}

const decode = (base64: string | null): Buffer | null =>
  base64 === null ? null : Buffer.from(base64, 'base64')

/** Text when every byte of it is, else hex. */
function readable(bytes: Buffer | null): string {
  if (bytes === null) return '(null)'
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : `0x${bytes.toString('hex')}`
}

/** A record whole: what happened to it, its headers as text, its value as bytes. */
export function wholeLines(record: WholeQuarantined, allBytes: boolean): string[] {
  const value = decode(record.value)
  const facts = columns(
    [
      ['state', `${record.state}, ${record.consumer}`],
      ['reason', record.reason],
      ['why', record.explanation],
      ['result', record.resolution ?? '-'],
      ['note', nameOf(record)],
      ['event', record.eventId ?? '-'],
      [
        'place',
        `${record.topic}-${record.partition} offset ${record.offset}, incarnation ${record.incarnation}`,
      ],
      ['in the topic', record.brokerTime],
      ['tried', `${counted(record.attempts, 'time')}, first ${record.firstAt}, last ${record.lastAt}`],
      ['action', record.actionId ?? '-'],
      ...(record.heldBy ? [['held by', `record ${record.heldBy}`]] : []),
      ...(record.holds > 0 ? [['holds', `${counted(record.holds, 'later record')} of its note`]] : []),
      ['key', readable(decode(record.key))],
      ...record.headers.map(([name, text]) => [`header ${name}`, readable(decode(text))]),
    ].map((row) => row.map(printable)),
  )
  return [
    ...facts,
    value === null ? 'value  (null)' : `value  ${value.length} bytes`,
    ...(value ? hexLines(value, allBytes ? value.length : SHOWN_BYTES) : []),
  ]
}
