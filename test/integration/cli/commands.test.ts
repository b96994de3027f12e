import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ImportSummary } from '../../../cli/import/summary.ts'
import type { Journey } from '../../../cli/journey.ts'
import type { Shown } from '../../../cli/show.ts'
import { clientOf } from '../../support/client.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
let folder: string

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'notes-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const written = path.join(folder, name)
  writeFileSync(written, text)
  return written
}

type PublishResult = {
  noteId: string
  revision: number
  eventId: string
  replayed: boolean
  unchanged: boolean
  states: { state: string; at: string | null }[]
}
const publish = (args: readonly string[], input?: string, expectedCode = 0) =>
  notesctlJson<PublishResult>(lab, ['publish', ...args], expectedCode, input === undefined ? {} : { input })

describe('notesctl publish', () => {
  test('saves a file and ends when readers have its exact bytes', async () => {
    const noteId = uniqueNoteId()
    const text = `---\nnoteId: ${noteId}\ntitle: A title\nurl: https://example.org/\n---\r\nbody \u{1F600}\n`
    const result = await publish([file('note.md', text)])
    expect(result).toMatchObject({ noteId, revision: 1, replayed: false })
    expect(result.states.map(({ state }) => state)).toEqual(expect.arrayContaining(['accepted', 'visible']))
    const shown = await (await client.read(`/notes/${noteId}`)).json()
    expect(shown).toMatchObject({ revision: 1, title: 'A title', url: 'https://example.org/', body: text })
  })

  test('without --revision it saves the one after the canonical', async () => {
    const noteId = uniqueNoteId()
    await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
    expect(await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# Two')).toMatchObject({
      revision: 2,
    })
  })

  test('repeated with the same revision and content it changes nothing and says so', async () => {
    const noteId = uniqueNoteId()
    const args = ['--stdin', '--note', noteId, '--revision', '1', '--wait', 'none']
    const first = await publish(args, '# One')
    expect(await publish(args, '# One')).toMatchObject({ eventId: first.eventId, replayed: true })
  })

  test('with the content of the canonical revision it changes nothing, waits for readers and says unchanged', async () => {
    const noteId = uniqueNoteId()
    const args = ['--stdin', '--note', noteId]
    const first = await publish([...args, '--wait', 'none'], '# One')
    const again = await publish(args, '# One')
    expect(again).toMatchObject({ revision: 1, eventId: first.eventId, unchanged: true })
    expect(again.states.map(({ state }) => state)).toContain('visible')
    const said = await notesctl(lab, ['publish', ...args, '--wait', 'none'], { input: '# One' })
    expect([said.code, said.stdout.split('\n')[0]]).toEqual([
      0,
      `${noteId}:1 unchanged, event ${first.eventId}`,
    ])
    // A revision of its own only for who asks for one.
    expect(await publish([...args, '--wait', 'none', '--force'], '# One')).toMatchObject({
      revision: 2,
      unchanged: false,
    })
    expect(await publish([...args, '--wait', 'none', '--revision', '3'], '# One')).toMatchObject({
      revision: 3,
    })
  })

  test('a wrong revision is a conflict, code 4, and names the current one', async () => {
    const noteId = uniqueNoteId()
    await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
    const end = await notesctl(lab, ['publish', '--stdin', '--note', noteId, '--revision', '7'], {
      input: '# X',
    })
    expect(end.code).toBe(4)
    expect(end.stderr).toContain(`${noteId} is at revision 1`)
  })

  test('takes a JSON command; withdrawn means readers get 410', async () => {
    const noteId = uniqueNoteId()
    await publish(
      ['--stdin', '--wait', 'none'],
      JSON.stringify({ noteId, title: 'T', type: 'article', body: 'b' }),
    )
    const gone = { noteId, title: 'T', type: 'article', body: '', visibility: 'withdrawn' }
    const result = await publish(['--stdin'], JSON.stringify(gone))
    expect(result.states.map(({ state }) => state)).toContain('withdrawn')
    expect((await client.read(`/notes/${noteId}`)).status).toBe(410)
  })

  test.each([
    ['no note id', ['--stdin'], '# X'],
    ['neither file nor --stdin', [], ''],
    ['a file that is not there', ['/no/such.md'], ''],
    ['front matter that breaks a rule', ['--stdin', '--note', 'x'], '---\nurl: nowhere\n---\n'],
    ['JSON that is no command', ['--stdin', '--note', 'x'], '{"title": 5}'],
    ['an invalid note id', ['--stdin', '--note', '../x'], '# X'],
  ])('%s is a usage error, code 2, and nothing is saved', async (_what, args, input) => {
    const end = await notesctl(lab, ['publish', ...args], { input })
    expect(end.code, end.stderr).toBe(2)
    expect(end.stdout).toBe('')
  })
})

describe('notesctl show, journey and watch', () => {
  test('show has the canonical note beside what readers get, for the newest and for an old revision', async () => {
    const noteId = uniqueNoteId()
    await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
    await publish(['--stdin', '--note', noteId], '# Two')
    const shown = await notesctlJson<Shown>(lab, ['show', noteId])
    expect(shown.canonical).toMatchObject({ revision: 2, title: 'Two', body: '# Two' })
    expect(shown.public).toMatchObject({
      status: 'public',
      note: { revision: 2 },
      etag: shown.canonical.etag,
    })
    expect(shown.publication.state).toBe('visible')
    const old = await notesctlJson<Shown>(lab, ['show', `${noteId}:1`])
    expect(old).toMatchObject({
      revision: { revision: 1, title: 'One' },
      publication: { state: 'superseded' },
    })
    expect((await notesctl(lab, ['show', noteId])).stdout).toMatch(/revision +2 +2\n/)
  })

  test('watch prints each step once and ends when readers see the revision', async () => {
    const noteId = uniqueNoteId()
    await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
    const end = await notesctl(lab, ['watch', `${noteId}:1`, '--json'])
    expect(end.code, end.stderr).toBe(0)
    const steps = end.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).name)
    expect(new Set(steps).size).toBe(steps.length)
    expect(steps.at(0)).toBe('accepted')
    expect(steps).toContain('visible')
  })

  test('journey gives the time of each step, and of what is only observed no time since the commit', async () => {
    const noteId = uniqueNoteId()
    await publish(['--stdin', '--note', noteId], '# One')
    const { confirmed } = await waitFor('the watcher to record it', async () => {
      const journey = await notesctlJson<Journey>(lab, ['journey', noteId])
      return journey.confirmed?.evidence === 'recorded' && journey
    })
    expect(confirmed?.observedAt).toEqual(expect.any(String))
    const { stdout } = await notesctl(lab, ['journey', noteId])
    expect(stdout).toMatch(/^confirmed +known at \S+Z +the watcher saw the slot pass the commit/m)
    expect(stdout).toMatch(/^visible +known at \S+Z +the read API shows it/m)
    expect(stdout).toMatch(/^in Kafka +\S+Z +\+\d+ ms +topic /m)
  })

  test('watch gives up with code 7 when the projector is down, and says what is missing and where to look', async () => {
    const noteId = uniqueNoteId()
    await lab.stop('projector')
    try {
      await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
      const end = await notesctl(lab, ['watch', noteId, '--timeout', '2s'])
      expect(end.code).toBe(7)
      expect(end.stderr).toContain('visible: readers get nothing')
      // The relay is well: it is the projector that has to be looked at, once the broker is known to have it.
      const afterConfirmed = ['publish', '--stdin', '--note', noteId, '--timeout', '1s']
      await publish(['--stdin', '--note', noteId, '--wait', 'confirmed'], '# Two')
      const unchanged = await notesctl(lab, afterConfirmed, { input: '# Two' })
      expect(unchanged.code).toBe(7)
      expect(unchanged.stderr).toContain(`Next: curl ${lab.addresses.projectorUrl}/readyz`)
      const journey = await notesctlJson<Journey>(lab, ['journey', noteId])
      expect(journey).toMatchObject({ catalog: null, visible: null, committed: { at: expect.any(String) } })
    } finally {
      await lab.start('projector')
      await lab.waitReady('projector')
    }
  })

  test.each(['show', 'journey', 'watch'])(
    '%s of a note that does not exist ends with code 3',
    async (command) => {
      expect((await notesctl(lab, [command, uniqueNoteId()])).code).toBe(3)
      const noteId = uniqueNoteId()
      await publish(['--stdin', '--note', noteId, '--wait', 'none'], '# One')
      expect((await notesctl(lab, [command, `${noteId}:2`])).code).toBe(3)
    },
  )
})

describe('notesctl token', () => {
  test('prints a token and nothing else, which the write API takes with just its roles', async () => {
    const end = await notesctl(lab, ['token', '--subject', 'grace', '--role', 'reader'])
    expect(end).toMatchObject({ code: 0, stderr: '' })
    expect(end.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const noteId = uniqueNoteId()
    const answer = await client.save({ noteId, revision: 1 }, { token: end.stdout.trim() })
    expect(answer.status).toBe(403)
  })

  test('a given token is used instead of an own one: refused, code 6', async () => {
    const { stdout } = await notesctl(lab, ['token', '--role', 'reader'])
    const args = ['publish', '--stdin', '--note', uniqueNoteId()]
    const refused = await notesctl(lab, [...args, '--revision', '1'], {
      input: '#',
      env: { NOTES_TOKEN: stdout.trim() },
    })
    expect(refused.code, refused.stderr).toBe(6)
    const invalid = await notesctl(lab, [...args, '--token', 'x.y.z'], { input: '#' })
    expect(invalid.code, invalid.stderr).toBe(6)
  })
})

describe('when something is away or not given', () => {
  test('a refused connection says what to do, code 5', async () => {
    const end = await notesctl(lab, ['show', 'x', '--write-api', 'http://127.0.0.1:49151'])
    expect(end.code).toBe(5)
    expect(end.stderr).toContain('refused the connection')
    expect(end.stderr).toContain('bin/up')
  })

  test('a wrong address names the option that gave it, code 2', async () => {
    for (const option of ['--write-api', '--read-api']) {
      const end = await notesctl(lab, ['show', 'x', option, 'nonsense'])
      expect(end.code).toBe(2)
      expect(end.stderr).toContain(`option '${option} <url>' argument 'nonsense' is invalid`)
    }
  })

  test('without lab and settings every missing variable is named, code 2', async () => {
    const end = await notesctl({ dir: '/no/such/lab' }, ['topic', 'cat'])
    expect(end.code).toBe(2)
    expect(end.stderr).toContain('KAFKA_BROKERS: is not set')
    expect(end.stderr).toContain('/no/such/lab/client.env')
  })

  test.each([[['nonsense']], [['import']], [['import', '.', '--concurrency', '0']], [['show', 'a:b']]])(
    'the command line %j is refused, code 2',
    async (args) => {
      expect((await notesctl(lab, args)).code).toBe(2)
    },
  )

  test('an import into a folder that is not there changes nothing, code 2', async () => {
    expect((await notesctl(lab, ['import', '/no/such/folder'])).code).toBe(2)
    expect((await notesctl(lab, ['import', '--git', folder])).code).toBe(2)
  })

  test('an import --wait-visible that readers do not get ends with code 7 and names the notes', async () => {
    file('waiting.md', '# Waiting')
    await lab.stop('projector')
    try {
      const args = ['import', folder, '--glob', 'waiting.md', '--prefix', uniqueNoteId('w'), '--wait-visible']
      const summary = await notesctlJson<ImportSummary>(lab, [...args, '--timeout', '1s'], 7)
      expect(summary).toMatchObject({ published: 1, visibility: { visible: 0, notVisible: 1 } })
    } finally {
      await lab.start('projector')
      await lab.waitReady('projector')
    }
  })
})

test.each([
  [[]],
  ...['publish', 'import', 'show', 'watch', 'journey', 'token'].map((name) => [[name]]),
  [['topic', 'cat']],
  [['topic']],
  [['relay']],
  [['relay', 'status']],
])('--help of %j has examples', async (command) => {
  const end = await notesctl(lab, [...command, '--help'])
  expect(end.code).toBe(0)
  expect(end.stdout).toMatch(/\n {2}bin\/notesctl |First steps:/)
})
