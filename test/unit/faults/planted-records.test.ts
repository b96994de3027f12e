import { A1, A1_EVENT, A2, A2_EVENT, A3, describePlants, OTHER_DIGEST, OTHER_EVENT } from './planted.ts'
import { add, change } from './plants.ts'
import type { Story } from './story.ts'

/** A record of a:1 beyond the first: the replay. */
const REPLAY = { eventId: A1_EVENT, operation: 'r' }
/** The content inside the first record of an event. */
function rewrite(story: Story, eventId: string, inside: Record<string, unknown>): void {
  const record = story.facts.records.find((item) => item.eventId === eventId)
  const event = record?.event
  if (record && event) change(story, 'records', { eventId }, { event: { ...event, ...inside } })
}

describePlants('bytes-differ', [
  [
    'a record has other bytes than the outbox',
    (s) => {
      change(s, 'records', { eventId: A2_EVENT }, { sha256: OTHER_DIGEST })
      change(s, 'audit', { eventId: A2_EVENT }, { sha256: OTHER_DIGEST })
    },
  ],
  ['a replay has other bytes than the outbox', (s) => change(s, 'records', REPLAY, { sha256: OTHER_DIGEST })],
  [
    'a replay of a pruned envelope has other bytes than the first record',
    (s) => {
      change(s, 'intents', A1, { sha256: null })
      change(s, 'records', REPLAY, { sha256: OTHER_DIGEST })
    },
  ],
  ['a record lies under another key', (s) => change(s, 'records', REPLAY, { key: 'b' })],
  ['header revision is another', (s) => change(s, 'records', REPLAY, { revision: 2 })],
  ['a value cannot be decoded', (s) => change(s, 'records', REPLAY, { event: undefined })],
  ['the content inside is not the canonical one', (s) => rewrite(s, A2_EVENT, { digest: OTHER_DIGEST })],
  ['the value names another note', (s) => rewrite(s, A2_EVENT, { noteId: 'c' })],
  ['the ledger saw other bytes', (s) => change(s, 'audit', { eventId: A2_EVENT }, { sha256: OTHER_DIGEST })],
  ['it was applied with other content', (s) => change(s, 'inbox', A2, { digest: OTHER_DIGEST })],
])

describePlants('effect-applied-twice', [
  ['an event is in the inbox twice', (s) => add(s, 'inbox', A2)],
  ['the ledger has a record twice', (s) => add(s, 'audit', { partition: 1, offset: 0 }, { incarnation: 2 })],
  ['an event was written into the inbox twice', (s) => add(s, 'effects', { ...A2, table: 'inbox' })],
  ['an event was written into the catalog twice', (s) => add(s, 'effects', { ...A3, table: 'notes' })],
  [
    'the catalog went back',
    (s) => {
      s.facts.effects = s.facts.effects?.toReversed()
    },
  ],
])

describePlants('nobody-sent-it', [
  [
    'a revision that no client sent',
    (s) => {
      s.history = s.history.filter(
        (entry) => !(entry.kind === 'command' && entry.noteId === 'a' && entry.revision === 3),
      )
    },
  ],
  [
    'an effect of an event that the source does not have',
    (s) => {
      add(s, 'inbox', A3, { noteId: 'c', eventId: OTHER_EVENT })
      add(s, 'effects', { ...A3, table: 'inbox' }, { noteId: 'c', eventId: OTHER_EVENT })
    },
  ],
  [
    'an inbox row that nobody wrote',
    (s) => {
      s.facts.effects = s.facts.effects?.filter(
        ({ table, revision }) => !(table === 'inbox' && revision === 3),
      )
    },
  ],
  [
    'the ledger has a record that the topic does not have',
    (s) => add(s, 'audit', { partition: 1 }, { offset: 99 }),
  ],
])
