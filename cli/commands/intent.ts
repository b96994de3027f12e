import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { type NoteReference, noteReference } from '../options.ts'
import { columns, printable } from '../output.ts'

const Preview = z.looseObject({
  noteId: z.string(),
  revision: z.int(),
  eventId: z.string(),
  eventType: z.string(),
  content: z.looseObject({
    title: z.string(),
    url: z.string().nullable(),
    type: z.string(),
    body: z.string(),
    visibility: z.string(),
  }),
  contentDigest: z.string(),
  occurredAt: z.string(),
  envelopeBytes: z.int().nullable(),
  envelopeSha256: z.string().nullable(),
  writtenBy: z.looseObject({ sessionUser: z.string(), applicationName: z.string() }),
  newestRevision: z.int(),
  visibleRevision: z.int().nullable(),
  alsoWithoutIntent: z.array(z.int()),
  explanation: z.string(),
  refused: z.string().nullable(),
})
type Preview = z.infer<typeof Preview>
const Created = z.looseObject({ actionId: z.string(), eventId: z.string(), effect: z.string() })

const SHOWN_BODY_CHARS = 400

export function registerIntent(program: Command): void {
  const intent = program
    .command('intent')
    .summary('the intent of a revision that was written past the API')
    .description('A revision without an intent is published only when a person decides so.')
    .addHelpText(
      'after',
      "\nExample:\n  bin/notesctl intent create hello:7 --reason 'imported by SQL, wanted'",
    )
  intent
    .command('create')
    .summary('preview what would be published; with --reason, decide it')
    .description(
      'Shows exactly what would be published for a revision that has no intent: content, event id, digest, and what readers would see. Changes nothing without --reason. With it, the intent is made and recorded with who and why; the relay then brings it like any other.',
    )
    .argument('<note:revision>', 'the revision', oneRevision)
    .option('--reason <text>', 'why it is to be published; recorded with who')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl intent create hello:7
  bin/notesctl intent create hello:7 --reason 'imported by SQL, wanted; agreed with the editors'`,
    )
    .action(
      async ({ noteId, revision }: Required<NoteReference>, flags: { reason?: string }, command: Command) => {
        const { output, ...context } = contextOf(command)
        const path = `/intents/${encodeURIComponent(noteId)}/${revision}`
        const preview = await context.api.look(path, Preview, 'The preview')
        if (!preview) throw new CliFailure('not-found', `The source has no revision ${noteId}:${revision}.`)
        if (flags.reason === undefined || preview.refused) {
          output.result(preview, () => previewLines(preview).map(printable))
          if (preview.refused && flags.reason !== undefined)
            throw new CliFailure('failed', `Nothing was made. ${preview.explanation}`)
          return
        }
        if (!output.isJson) for (const line of previewLines(preview).slice(0, -1)) output.note(line)
        const body = { reason: flags.reason, envelopeSha256: preview.envelopeSha256 }
        const created = await context.api.act(path, body, Created, 'Making the intent')
        if (!created) throw new CliFailure('not-found', `The source has no revision ${noteId}:${revision}.`)
        output.result(created, () => [
          `The intent of ${noteId}:${revision} is made: event ${created.eventId}. ${created.effect}`,
          `Recorded as ${created.actionId}. Follow it with: bin/notesctl where ${noteId}:${revision}`,
        ])
      },
    )
}

function contextOf(command: Command) {
  const context = new CliContext(command)
  return { output: context.output, api: context.consoleApi() }
}

function oneRevision(text: string): NoteReference {
  const reference = noteReference(text)
  if (reference.revision === undefined) throw new InvalidArgumentError('Name a revision as NOTE:7.')
  return reference
}

/** The preview for people. Pure. */
export function previewLines(preview: Preview): string[] {
  const { content, writtenBy, alsoWithoutIntent } = preview
  const body =
    content.body.length > SHOWN_BODY_CHARS
      ? `${content.body.slice(0, SHOWN_BODY_CHARS)}… (${content.body.length} characters; --json shows all)`
      : content.body
  return [
    `${preview.noteId}:${preview.revision} has ${preview.refused === 'exists' ? 'an' : 'no'} intent. ${preview.refused ? '' : 'Making it would publish:'}`.trimEnd(),
    ...columns([
      ['  event', `${preview.eventId}, ${preview.eventType}, as of ${preview.occurredAt}`],
      ['  title', content.title],
      ['  url', content.url ?? 'none'],
      ['  type', content.type],
      ['  visibility', content.visibility],
      ['  body', body],
      ['  content digest', preview.contentDigest],
      [
        '  envelope',
        preview.envelopeSha256 === null
          ? 'none can be made'
          : `${preview.envelopeBytes} bytes, SHA-256 ${preview.envelopeSha256}`,
      ],
      ['  written by', `${writtenBy.sessionUser} as "${writtenBy.applicationName}"`],
      [
        '  newest revision',
        `${preview.newestRevision} at the source, ${preview.visibleRevision ?? 'none'} in the live catalog`,
      ],
      ...(alsoWithoutIntent.length > 0 ? [['  also without intent', alsoWithoutIntent.join(', ')]] : []),
    ]),
    preview.explanation,
    preview.refused
      ? 'It cannot be made.'
      : `Nothing was made. To decide it: bin/notesctl intent create ${preview.noteId}:${preview.revision} --reason TEXT`,
  ]
}
