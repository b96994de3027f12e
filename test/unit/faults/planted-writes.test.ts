import {
  A1,
  A1_EVENT,
  A2,
  A2_EVENT,
  A3,
  A3_EVENT,
  B2,
  describePlants,
  neverRelayed,
  OTHER_DIGEST,
  OTHER_EVENT,
} from './planted.ts'
import { add, alter, append, change, entryOf, remove } from './plants.ts'
import type { Story } from './story.ts'

const accepted = (story: Story, noteId: string, revision: number) =>
  entryOf(
    story,
    'command',
    ({ answer, ...sent }) =>
      sent.noteId === noteId && sent.revision === revision && answer.outcome === 'accepted',
  )
const unanswered = (story: Story) => entryOf(story, 'command', ({ answer }) => answer.outcome === 'no-answer')
const refusedWith = (story: Story, code: string) =>
  entryOf(story, 'command', ({ answer }) => answer.outcome === 'refused' && answer.code === code)

describePlants('acknowledged-write-lost', [
  [
    'an acknowledged revision is not at the source',
    (s) => remove(s, 'revisions', B2),
    ['false-claim', 'nobody-sent-it'],
  ],
  [
    'the source holds other content than was acknowledged',
    (s) => change(s, 'revisions', A2, { digest: OTHER_DIGEST }),
    ['bytes-differ', 'nobody-sent-it'],
  ],
  ['it has no outbox row', (s) => remove(s, 'intents', B2), ['false-claim', 'nobody-sent-it']],
  ['its receipt is gone', (s) => remove(s, 'receipts', A2)],
  ['its event has no record', (s) => neverRelayed(s, A2_EVENT), ['confirmed-too-early']],
  [
    'a commit whose answer never came has no record',
    (s) => {
      s.history = s.history.filter(({ kind }) => kind !== 'event' && kind !== 'publication')
      neverRelayed(s, A3_EVENT)
    },
  ],
  ['its effect is missing in the inbox', (s) => remove(s, 'inbox', A2)],
  ['the ledger misses a record', (s) => remove(s, 'audit', { partition: 1, offset: 1 })],
  ['readers get an older revision in the end', (s) => change(s, 'catalog', A3, { ...A2, eventId: A2_EVENT })],
  ['readers get other content in the end', (s) => change(s, 'catalog', A3, { digest: OTHER_DIGEST })],
  ['readers get no such note in the end', (s) => remove(s, 'catalog', { noteId: 'b' })],
  [
    'a consumer stands before the end of the topic',
    (s) => change(s, 'progress', { consumer: 'audit', partition: 1 }, { nextOffset: 1 }),
  ],
  [
    'its record is in quarantine',
    (s) => {
      remove(s, 'inbox', A2)
      s.facts.quarantine.push({
        consumer: 'catalog',
        partition: 1,
        offset: 1,
        eventId: A2_EVENT,
        noteId: 'a',
        revision: 2,
        reason: 'conflict',
      })
    },
  ],
])

describePlants('failed-write-took-effect', [
  [
    'answered 409 at that very revision, and committed under that key',
    (s) =>
      alter(s, unanswered(s), {
        answer: {
          ...refusedWith(s, 'revision-conflict').answer,
          eventId: A2_EVENT,
          sameContent: true,
        } as never,
      }),
  ],
  [
    'answered 422 for a reused key, and committed with that content',
    (s) =>
      alter(s, unanswered(s), {
        answer: { outcome: 'refused', status: 422, code: 'idempotency-key-reused', eventId: A2_EVENT },
      }),
  ],
  [
    'refused as invalid in its only attempt, and committed',
    (s) =>
      alter(
        s,
        entryOf(s, 'command', ({ noteId, revision }) => noteId === 'a' && revision === 3),
        {
          answer: { outcome: 'refused', status: 422, code: 'invalid-content' },
        },
      ),
  ],
  [
    'the same edit is in two revisions',
    (s) => {
      const { digest } = accepted(s, 'a', 2)
      const third = entryOf(s, 'command', ({ noteId, revision }) => noteId === 'a' && revision === 3)
      for (const table of ['revisions', 'inbox', 'catalog'] as const) change(s, table, A3, { digest })
      for (const record of s.facts.records.filter(({ eventId }) => eventId === A3_EVENT)) {
        const event = record.event && { ...record.event, digest }
        s.facts.records[s.facts.records.indexOf(record)] = { ...record, event }
      }
      alter(s, third, { digest })
      s.history = s.history.filter(
        (entry) =>
          !(
            (entry.kind === 'read' || entry.kind === 'list' || entry.kind === 'canonical') &&
            JSON.stringify(entry).includes('"3-')
          ),
      )
    },
  ],
])

describePlants('one-key-two-events', [
  [
    'two 202 for one key name two events',
    (s) =>
      append(s, accepted(s, 'a', 1), {
        answer: { outcome: 'accepted', ...A1, eventId: OTHER_EVENT, replayed: true },
      }),
    ['acknowledged-write-lost', 'two-events-one-revision'],
  ],
  ['a repeat is answered as a first one', (s) => append(s, accepted(s, 'a', 1), {})],
  [
    'the receipt names another event than the answer',
    (s) => change(s, 'receipts', A2, { eventId: OTHER_EVENT }),
    ['acknowledged-write-lost'],
  ],
  [
    'the refusal of a reused key names another event than its 202',
    (s) =>
      alter(s, refusedWith(s, 'idempotency-key-reused'), {
        answer: { outcome: 'refused', status: 422, code: 'idempotency-key-reused', eventId: OTHER_EVENT },
      }),
  ],
  ['one event belongs to two keys', (s) => add(s, 'receipts', A1, { key: 'another-key' })],
])

describePlants('two-events-one-revision', [
  [
    'two 202 for one revision',
    (s) =>
      append(s, accepted(s, 'a', 1), {
        key: 'another-key',
        editId: 'another-edit',
        answer: { outcome: 'accepted', ...A1, eventId: OTHER_EVENT, replayed: false },
      }),
    ['acknowledged-write-lost'],
  ],
  [
    'the topic has a second event of it',
    (s) => {
      const { event, ...record } = s.facts.records.find(({ operation }) => operation === 'r') ?? {}
      const offset = s.facts.records.filter(({ partition }) => partition === 1).length
      const second = {
        ...record,
        eventId: OTHER_EVENT,
        offset,
        event: { ...event, eventId: OTHER_EVENT },
      } as never
      s.facts.records.push(second)
      add(s, 'audit', { eventId: A1_EVENT }, { eventId: OTHER_EVENT, offset })
      for (const consumer of ['audit', 'catalog'] as const) {
        change(s, 'progress', { consumer, partition: 1 }, { nextOffset: offset + 1 })
      }
      s.facts.ends = s.facts.ends.map((end) => (end.partition === 1 ? { ...end, end: offset + 1 } : end))
    },
    ['nobody-sent-it'],
  ],
  [
    'the inbox has a second event of it',
    (s) => {
      add(s, 'inbox', A1, { eventId: OTHER_EVENT })
      s.facts.effects = undefined
    },
    ['effect-applied-twice', 'nobody-sent-it'],
  ],
])
