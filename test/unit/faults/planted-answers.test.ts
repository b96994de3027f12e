import { noteETag } from '../../../core/etag.ts'
import { A1_EVENT, A2_EVENT, describePlants, OTHER_DIGEST, OTHER_EVENT } from './planted.ts'
import { alter, append, change, entryOf } from './plants.ts'
import { missing, type Story } from './story.ts'

const read = (story: Story, status: number, revision?: number) =>
  entryOf(story, 'read', (entry) => entry.status === status && (!revision || entry.revision === revision))
const list = (story: Story) => entryOf(story, 'list')
const publication = (story: Story, state: string) =>
  entryOf(story, 'publication', ({ answer }) => answer?.state === state)
const saying = (story: Story, state: string, change: object) => {
  const entry = publication(story, state)
  alter(story, entry, { answer: { ...(entry.answer ?? missing()), ...change } })
}
/** Without its claim of freshness, which an old answer would break too. */
const STALE = { asOf: null, freshness: null }
const itemOf = (story: Story, noteId: string, revision: number) => {
  const row = story.facts.revisions.find((item) => item.noteId === noteId && item.revision === revision)
  return { noteId, revision, etag: noteETag(revision, row?.digest ?? missing()) }
}

describePlants('revision-went-back', [
  ['a read shows an older revision', (s) => append(s, read(s, 200, 1), STALE)],
  ['a 304 confirms an older revision', (s) => append(s, read(s, 304), STALE)],
  ['a note that was seen is not found', (s) => append(s, read(s, 404), STALE)],
  ['the list shows an older revision', (s) => append(s, list(s), { ...STALE, items: [itemOf(s, 'a', 2)] })],
  ['a 503 says that readers have an older revision', (s) => append(s, read(s, 503), STALE)],
  [
    'a publication says that readers get an older revision',
    (s) =>
      append(s, publication(s, 'accepted'), {
        answer: { ...(publication(s, 'accepted').answer ?? missing()), asOf: null },
      }),
  ],
  [
    'the write API shows an older revision after a newer one',
    (s) => {
      const { etag } = itemOf(s, 'a', 1)
      append(s, entryOf(s, 'canonical'), {})
      append(s, entryOf(s, 'canonical'), { revision: 1, etag })
    },
    ['false-claim'],
  ],
])

describePlants('withdrawn-note-reappeared', [
  [
    'an older revision is shown after 410',
    (s) => {
      const { etag } = itemOf(s, 'b', 1)
      append(s, read(s, 200, 1), { ...STALE, noteId: 'b', etag, digest: null })
    },
  ],
  [
    'the list shows an older revision after 410',
    (s) => append(s, list(s), { ...STALE, items: [itemOf(s, 'b', 1)] }),
  ],
  ['the withdrawing revision itself is shown', (s) => append(s, list(s), { items: [itemOf(s, 'b', 2)] })],
])

describePlants('confirmed-too-early', [
  [
    'confirmed one millisecond before the first record',
    (s) => {
      const poll = entryOf(s, 'event', ({ eventId }) => eventId === A2_EVENT)
      const first = Math.max(...s.facts.records.map(({ brokerTimeMs }) => brokerTimeMs))
      change(s, 'records', { eventId: A2_EVENT }, { brokerTimeMs: poll.endedAt + 1 })
      for (const record of s.facts.records.filter(({ eventId }) => eventId === A2_EVENT)) {
        s.facts.records[s.facts.records.indexOf(record)] = {
          ...record,
          brokerTimeMs: Math.max(first, poll.endedAt + 1),
        }
      }
      s.history = s.history.filter((entry) => entry.kind !== 'publication')
    },
  ],
  [
    'a publication is confirmed before the first record',
    (s) => saying(s, 'accepted', { state: 'confirmed', confirmed: 'yes' }),
  ],
])

describePlants('false-claim', [
  [
    'a 202 speaks of another revision',
    (s) => {
      const command = entryOf(
        s,
        'command',
        ({ noteId, answer }) => noteId === 'b' && answer.outcome === 'accepted',
      )
      alter(s, command, { answer: { ...command.answer, revision: 7 } as never })
    },
  ],
  [
    'replayed, though the key was sent once',
    (s) => {
      const command = entryOf(
        s,
        'command',
        ({ noteId, answer }) => noteId === 'b' && answer.outcome === 'accepted',
      )
      alter(s, command, { answer: { ...command.answer, replayed: true } as never })
    },
  ],
  ['a conflict names a revision that does not exist', (s) => conflict(s, { currentRevision: 9 })],
  ['a conflict names an older revision than was acknowledged', (s) => conflict(s, { currentRevision: 1 })],
  ['a conflict says that the content is the same', (s) => conflict(s, { sameContent: true })],
  ['a conflict names another event', (s) => conflict(s, { eventId: OTHER_EVENT })],
  [
    'the write API does not know what it acknowledged',
    (s) => append(s, entryOf(s, 'canonical'), { noteId: 'b', status: 404, revision: null, etag: null }),
  ],
  [
    'an acknowledged event is not found',
    (s) => append(s, entryOf(s, 'event'), { status: 404, answer: null }),
  ],
  [
    'an event is said to be of another revision',
    (s) => {
      const poll = entryOf(s, 'event')
      alter(s, poll, { answer: { ...(poll.answer ?? missing()), revision: 3 } })
    },
  ],
  [
    'an acknowledged publication is not found',
    (s) => append(s, publication(s, 'superseded'), { status: 404, answer: null }),
  ],
  ['a publication is called note-only', (s) => saying(s, 'accepted', { state: 'note-only', accepted: 'no' })],
  ['a publication names another event', (s) => saying(s, 'accepted', { eventId: A1_EVENT })],
  ['superseded by nothing newer', (s) => saying(s, 'superseded', { shownRevision: 1 })],
  [
    'a withdrawn revision is called visible',
    (s) => saying(s, 'withdrawn', { state: 'visible', visible: 'yes' }),
    ['withdrawn-note-reappeared'],
  ],
  [
    'a conflict of contents is claimed',
    (s) => saying(s, 'visible', { state: 'confirmed', visible: 'conflict' }),
  ],
  ['the one word does not say what its parts say', (s) => saying(s, 'accepted', { state: 'visible' })],
  ['a read shows other content', (s) => alter(s, read(s, 200, 1), { digest: OTHER_DIGEST })],
  ['a read shows another ETag', (s) => alter(s, read(s, 200, 1), { etag: noteETag(1, OTHER_DIGEST) })],
  ['410 for a public revision', (s) => append(s, read(s, 410), { noteId: 'a', revision: 3 })],
  ['200 with less than the revision asked for', (s) => alter(s, read(s, 200, 1), { minRevision: 2 })],
  ['503 although the revision asked for is there', (s) => alter(s, read(s, 503), { minRevision: 1 })],
  [
    '"as of" a time before which a newer revision was acknowledged',
    (s) => {
      const old = read(s, 200, 1)
      const { endedAt } = entryOf(
        s,
        'command',
        ({ revision, answer }) => revision === 2 && answer.outcome === 'accepted',
      )
      alter(s, old, { asOf: new Date(endedAt + 1_000).toISOString(), freshness: null })
      moveToEnd(s, old.startMs)
    },
    ['revision-went-back'],
  ],
  [
    '"current" as of a time long ago',
    (s) => alter(s, list(s), { asOf: new Date(list(s).endedAt - 12_000).toISOString() }),
  ],
  [
    'first delivered out of order',
    (s) => {
      const { records } = s.facts
      const [first, second] = ['a', 'a'].map((key, n) =>
        records.findIndex((r) => r.key === key && r.revision === n + 2),
      )
      if (first === undefined || second === undefined) return missing()
      const [two, three] = [records[first] ?? missing(), records[second] ?? missing()]
      records[first] = { ...three, offset: two.offset }
      records[second] = { ...two, offset: three.offset }
      s.facts.audit = records.map(({ key, ...row }) => ({ ...row, noteId: key, incarnation: 1 }))
    },
  ],
])

function conflict(story: Story, change: object): void {
  const entry = entryOf(
    story,
    'command',
    ({ answer, key }) => key === 'key-ben' && answer.outcome === 'refused',
  )
  alter(story, entry, { answer: { ...entry.answer, ...change } as never })
}

/** Sends an old read again, at the very end. */
function moveToEnd(story: Story, startMs: number): void {
  const entry = entryOf(story, 'read', (item) => item.startMs === startMs)
  story.history.splice(story.history.indexOf(entry), 1)
  append(story, entry, {})
}
