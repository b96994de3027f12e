import { describe, expect, test } from 'vitest'
import { type Missing, nextLook } from '../../../cli/next-look.ts'

const missing: Missing = {
  note: 'n',
  inKafka: true,
  inCatalog: undefined,
  readers: 'not-yet',
  projectorUrl: 'http://projector',
  readApiUrl: 'http://reader',
}

const quarantined = { id: '7', state: 'open', reason: 'malformed-avro', explanation: 'It is broken.' }

describe('where to look when a revision does not reach readers', () => {
  test.each<[string, Partial<Missing>, string]>([
    ['not in Kafka: the relay', { inKafka: false }, 'bin/notesctl relay status'],
    ['in Kafka, the catalog not asked: the projector', {}, 'curl http://projector/readyz'],
    ['in Kafka, not in the catalog: the projector', { inCatalog: false }, 'curl http://projector/readyz'],
    ['in the catalog: the read API', { inCatalog: true }, 'curl http://reader/readyz'],
    ['the read API does not answer: the read API', { readers: 'unknown' }, 'curl http://reader/readyz'],
    ['in quarantine: that', { quarantined }, 'bin/notesctl quarantine list --note n --state any'],
    ['applied after all: the read API', { quarantined, inCatalog: true }, 'curl http://reader/readyz'],
    ['readers get other content: the note', { readers: 'conflict', inKafka: false }, 'bin/notesctl show n'],
    [
      'without a configured address its variable is named',
      { projectorUrl: undefined },
      'curl $PROJECTOR_URL/readyz',
    ],
  ])('%s', (_what, changes, command) => {
    expect(nextLook({ ...missing, ...changes })).toMatch(
      new RegExp(`Next: ${command.replaceAll(/[$.]/g, '\\$&')}$`),
    )
  })

  test('a record in quarantine is named with its reason', () => {
    expect(nextLook({ ...missing, quarantined })).toContain('(record 7, open, malformed-avro): It is broken.')
  })
})
