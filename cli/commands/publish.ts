import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import { NoteId, SaveNoteCommand } from '../../core/note.ts'
import { CliContext } from '../context.ts'
import { readDocument } from '../documents/document.ts'
import { shortDigest } from '../etag.ts'
import { CliFailure } from '../failure.ts'
import type { WriteApi } from '../http/write-api.ts'
import { keyForContent } from '../idempotency-key.ts'
import { planFile, type Step } from '../import/plan.ts'
import { durationOption, noteId, wholeNumber } from '../options.ts'
import { conflictText } from '../publish-conflict.ts'
import { awaitState, type WaitFor } from '../wait-state.ts'

const HELP = `
The text is Markdown, or a JSON command (a file named .json, or text that starts with {) with noteId, title,
url, type, body, visibility and optionally revision. Markdown may begin with front matter:
  ---
  noteId: release-notes-4.2
  title: Release notes 4.2        (default: the first heading, else the file's name)
  url: https://example.org/4.2    (absolute http or https)
  type: article                   (default)
  visibility: public              (default; or withdrawn)
  ---
The body is the whole text, front matter included, byte for byte.
Sending the same again changes nothing: content equal to the canonical revision is not saved but reported as
unchanged (code 0), and a request repeated with the same --revision is recognised by its Idempotency-Key.
--revision and --force save equal content too, as a revision of its own.

Result with --json: noteId, revision, eventId, replayed, unchanged, states[{state, at}]; at of accepted is the
  commit, of the others when it was observed.

Examples:
  bin/notesctl publish README.md --note readme
  bin/notesctl publish post.md --wait none --json
  echo '# Hello' | bin/notesctl publish --stdin --note hello
  echo '{"title":"Gone","type":"article","body":"","visibility":"withdrawn"}' | bin/notesctl publish --stdin --note hello`

type PublishFlags = {
  readonly stdin?: boolean
  readonly note?: string
  readonly revision?: number
  readonly force?: boolean
  readonly wait: WaitFor
  readonly timeout: number
}

/** The command without what the options can supply. */
const Draft = SaveNoteCommand.partial({ noteId: true, revision: true })
type Draft = z.infer<typeof Draft>

export function registerPublish(program: Command): void {
  program
    .command('publish')
    .summary('save one note and watch it become visible')
    .description('Saves one revision of one note and waits until readers see it.')
    .argument('[file]', 'Markdown or JSON')
    .option('--stdin', 'read the text from standard input')
    .option('--note <id>', 'the note (default: noteId of the text, else made from the file name)', noteId)
    .option(
      '--revision <n>',
      'the revision to create (default: the one after the canonical)',
      wholeNumber(1, 2_147_483_647),
    )
    .option('--force', 'save it even when the canonical note has this content')
    .addOption(
      new Option('--wait <state>', 'until when').choices(['visible', 'confirmed', 'none']).default('visible'),
    )
    .addOption(durationOption('--timeout <duration>', 'for --wait', '30s'))
    .addHelpText('after', HELP)
    .action(async (file: string | undefined, flags: PublishFlags, command: Command) => {
      const context = new CliContext(command)
      const draft = await readDraft(file, flags)
      const writeApi = context.writeApi()
      const id = flags.note ?? draft.noteId ?? idFromFile(file)
      const { title, url, type, body, visibility } = draft
      const content = { title, url, type, body, visibility }
      const digest = shortDigest(content)
      const named = flags.revision ?? draft.revision
      const step =
        named === undefined
          ? await nextStep(writeApi, id, flags.force ? undefined : digest)
          : ({ action: 'publish', revision: named } as const)
      const { revision } = step
      if (step.action === 'none') {
        const eventId = (await writeApi.publication(id, revision))?.eventId ?? null
        const unchanged = { status: 'unchanged', noteId: id, revision, eventId } as const
        return awaitState(context, unchanged, flags.wait, flags.timeout * 1000)
      }
      const key = keyForContent(id, revision, digest)
      const outcome = await writeApi.publish({ noteId: id, revision, ...content }, key)
      switch (outcome.status) {
        case 'conflict':
          throw new CliFailure(
            'conflict',
            conflictText({
              id,
              revision,
              current: outcome.currentRevision,
              wasNamed: named !== undefined,
              hasContent: (await writeApi.canonical(id)).status === 'present',
            }),
          )
        case 'key-reused':
        case 'refused':
          throw new CliFailure(
            'failed',
            `The write API refused the note; nothing was saved. ${outcome.status === 'refused' ? `${outcome.explanation}.` : 'Its Idempotency-Key was used for other content.'}`,
          )
        case 'accepted':
        case 'replayed':
          await awaitState(context, { noteId: id, ...outcome }, flags.wait, flags.timeout * 1000)
      }
    })
}

async function readDraft(file: string | undefined, flags: PublishFlags): Promise<Draft> {
  if ((file === undefined) === !flags.stdin) {
    throw new CliFailure('usage', 'Name one file, or use --stdin: exactly one of the two.')
  }
  const bytes = file === undefined ? await buffer(process.stdin) : await readText(file)
  const isJson = file?.endsWith('.json') || /^\uFEFF?\s*\{/.test(bytes.subarray(0, 256).toString())
  return isJson ? fromJson(bytes) : fromMarkdown(bytes, file ?? '')
}

async function readText(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new CliFailure(
      'usage',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}); nothing was saved. Check the path.`,
    )
  }
}

function fromJson(bytes: Buffer): Draft {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw new CliFailure(
      'usage',
      `The text starts like JSON but is none (${(error as Error).message}); nothing was saved.`,
    )
  }
  const draft = Draft.safeParse(value)
  if (!draft.success) {
    throw new CliFailure(
      'usage',
      `The JSON is not a note command; nothing was saved.\n${z.prettifyError(draft.error)}`,
    )
  }
  return draft.data
}

/** Unlike an import, which goes on without it, metadata that breaks a rule is refused: it was meant. */
function fromMarkdown(bytes: Buffer, path: string): Draft {
  const document = readDocument(bytes, path)
  if (document.status === 'unusable') {
    throw new CliFailure('failed', `The text cannot be a note; nothing was saved. ${document.explanation}`)
  }
  if (document.warnings.length > 0) {
    throw new CliFailure('usage', `Correct the text; nothing was saved.\n${document.warnings.join('\n')}`)
  }
  const declared = document.declaredNoteId
  if (declared !== undefined && !NoteId.safeParse(declared).success) {
    throw new CliFailure(
      'usage',
      `The front matter's note id ${NoteId.safeParse(declared).error?.issues[0]?.message}; nothing was saved.`,
    )
  }
  return { ...document.content, ...(declared !== undefined && { noteId: declared }) }
}

function idFromFile(file: string | undefined): string {
  const id = basename(file ?? '')
    .replace(/\.[^.]*$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
  if (NoteId.safeParse(id).success) return id
  throw new CliFailure('usage', 'Which note? Give --note ID, or noteId in the text; nothing was saved.')
}

/** @param digest undefined: a revision of its own whatever the canonical note has */
const nextStep = async (writeApi: WriteApi, id: string, digest: string | undefined): Promise<Step> =>
  planFile(await writeApi.canonical(id), digest)
