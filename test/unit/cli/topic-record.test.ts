import { describe, expect, test } from 'vitest'
import { printable } from '../../../cli/output.ts'
import { recordLines, showRecord } from '../../../cli/topic-record.ts'
import type { KafkaRecord } from '../../../core/kafka/consumer.ts'

const record: KafkaRecord = {
  partition: 2,
  offset: 7,
  timestampMs: 0,
  key: Buffer.from('note'),
  value: Buffer.from([0, 0, 0, 0x42, 0x3f, 1]),
  headers: [
    { key: 'id', value: Buffer.from('e') },
    { key: 'source', value: Buffer.from('{"lsn":1}') },
    { key: 'again', value: Buffer.from('1') },
    { key: 'again', value: null },
  ],
}

describe('a record for people and for programs', () => {
  test('headers keep their order and repetition, JSON in them is parsed', () => {
    const shown = showRecord('t', record, {
      status: 'undecodable',
      reason: 'unknown-schema',
      explanation: 'why',
    })
    expect(shown.headers).toEqual([
      ['id', 'e'],
      ['source', { lsn: 1 }],
      ['again', '1'],
      ['again', null],
    ])
  })

  test('one that cannot be decoded says why and shows its first bytes', () => {
    const shown = showRecord('t', record, {
      status: 'undecodable',
      reason: 'unknown-schema',
      explanation: 'why',
    })
    expect(shown.value).toEqual({
      status: 'undecodable',
      reason: 'unknown-schema',
      explanation: 'why',
      bytes: 6,
      hex: '000000423f01',
    })
    expect(recordLines(shown).join('\n')).toContain('NOT DECODABLE (unknown-schema): why')
  })

  test('a tombstone without key and headers is shown', () => {
    const tombstone = { ...record, key: null, value: null, headers: [] }
    const shown = showRecord('t', tombstone, {
      status: 'undecodable',
      reason: 'null-value',
      explanation: 'none',
    })
    expect(recordLines(shown)).toContain('  no value')
  })

  test('text of other people cannot control the terminal', () => {
    const evil = '\u001b[2J\u0007\r\u009b31m'
    expect(printable(evil)).toBe('\\u001b[2J\\u0007\\u000d\\u009b31m')
    const event = {
      eventId: 'e',
      eventType: 'NoteRevised' as const,
      noteId: 'note',
      revision: 1,
      title: evil,
      url: null,
      type: 'article',
      body: `${evil}\n`.repeat(100),
      visibility: 'public' as const,
      occurredAt: 0,
    }
    const lines = recordLines(showRecord('t', record, { status: 'decoded', schemaId: 1, event }))
    expect(lines.join('')).not.toMatch(/\p{Cc}/u)
  })
})
