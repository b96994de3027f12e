import type { Command } from 'commander'
import { CliContext, PATIENCE_MS } from '../context.ts'
import { defaultPrefix } from '../documents/note-id.ts'
import { CliFailure } from '../failure.ts'
import type { FileOutcome, ImportParts } from '../import/folder.ts'
import { progressBar } from '../import/progress.ts'
import { type ImportSummary, printSummary } from '../import/summary.ts'
import { Published, waitVisible } from '../import/visibility.ts'
import { collect, durationOption, prefix, wholeNumber } from '../options.ts'
import { printable } from '../output.ts'

const HELP = `
What becomes a note:
  Each Markdown file (.md, .markdown; or --glob). The body is the whole file, byte for byte; front matter
  stays in it and only feeds title, url, type and visibility. Without a title there: the first heading,
  else the file's name. The note id is <prefix>-<end of the path>-<hash>, the same in every run; the prefix
  is the folder's name unless --prefix says otherwise, so that two folders do not share notes.
  Symbolic links are never followed. Names starting with a dot, and node_modules below the folder, only
  with --include-hidden; a folder inside node_modules is taken whole.

Repeating:
  Only what differs from the canonical note is published, as its next revision. A run that was stopped or
  killed is continued by the same command; what was saved is recognised by its Idempotency-Key.
  Files that cannot be notes are listed at the end; the rest is imported and the exit code is 1. These are
  files that are not UTF-8, above 524288 bytes or with U+0000; and, as they may be meant to be withdrawn,
  files whose front matter cannot be read (YAML with errors or aliases, above 16384 characters) or whose
  visibility is neither public nor withdrawn.

--git imports the history of HEAD: the k-th version of a file is revision k of its note. Every commit counts
  that changed the file, branches included: first what the first parent reaches, then what a merge brought
  in, so that numbers stay the same when history grows. A merge counts where it settles something (conflicts).
  A deletion is a revision with visibility withdrawn; a rename withdraws the old note and starts a new one.
  Versions that cannot be notes are listed and not numbered. A note that somebody else edited meanwhile is
  left alone and reported.
  With --since only later commits are imported (not reachable from a revision, or committed at or after a
  date); the first of them becomes the revision after the canonical one, whatever number that is.

Result with --json, one object: source, kind, prefix, found, notes, published, created, unchanged, failed,
  symbolicLinksSkipped, failures[{path, commit?, noteId?, reason, explanation}], warnings[{path, warning}],
  lastNote{noteId, revision, path} or null, elapsedMs, and with --wait-visible
  visibility{visible, notVisible, missing[], waitedMs}. --each adds one object a file before it.

Examples:
  bin/notesctl import docs
  bin/notesctl import node_modules --wait-visible --json
  bin/notesctl import notes --glob '2026/**/*.md' --prefix diary
  bin/notesctl import --git .
  bin/notesctl import --git ../handbook --since 2026-01-01`

type ImportFlags = {
  readonly git?: boolean
  readonly since?: string
  readonly glob?: readonly string[]
  readonly prefix?: string
  readonly concurrency: number
  readonly includeHidden?: boolean
  readonly waitVisible?: boolean
  readonly timeout: number
  readonly each?: boolean
  readonly progress: boolean
}

export function registerImport(program: Command): void {
  program
    .command('import')
    .summary('publish the Markdown files of a folder, or the history of a git repository')
    .description('Publishes the Markdown files of a folder, or the history of a git repository, as notes.')
    .argument('<folder>', 'the folder; with --git a repository, or a folder in one for that part of it')
    .option('--git', 'import the history instead of the files')
    .option('--since <rev|date>', 'only with --git: leave out older commits')
    .option('--glob <pattern>', 'instead of all Markdown files; may be repeated', collect)
    .option('--prefix <text>', "beginning of every note id (default: the folder's name)", prefix)
    .option('--concurrency <n>', 'requests in flight', wholeNumber(1, 64), 8)
    .option('--include-hidden', 'also names starting with a dot, and node_modules')
    .option('--wait-visible', 'wait until the read API shows the newest revision of every note')
    .addOption(durationOption('--timeout <duration>', 'for --wait-visible', '2m'))
    .option('--each', 'print a line for every file')
    .option('--no-progress', 'no progress bar (there is none unless stderr is a terminal)')
    .addHelpText('after', HELP)
    .action(async (folder: string, flags: ImportFlags, command: Command) => {
      if (flags.since !== undefined && !flags.git) {
        throw new CliFailure('usage', '--since leaves out older commits; it needs --git.')
      }
      const context = new CliContext(command)
      const parts = {
        writeApi: context.writeApi(PATIENCE_MS.bulk),
        progress: progressBar(flags.progress),
        published: new Published(),
        onEach: (outcome: FileOutcome) => {
          if (flags.each) context.output.result(outcome, () => eachLine(outcome))
        },
      }
      await context.writeApi().ping()
      const saved = await runImport(folder, flags, parts)
      const summary = flags.waitVisible ? { ...saved, visibility: await wait(context, flags, parts) } : saved
      printSummary(context.output, summary)
      process.exitCode = exitCodeOf(summary)
    })
}

async function runImport(folder: string, flags: ImportFlags, parts: ImportParts): Promise<ImportSummary> {
  const common = {
    folder,
    prefix: flags.prefix ?? defaultPrefix(folder),
    globs: flags.glob ?? [],
    concurrency: flags.concurrency,
  }
  if (flags.git) {
    const { importGit } = await import('../git/import.ts')
    return importGit({ ...common, since: flags.since }, parts)
  }
  const { importFolder } = await import('../import/folder.ts')
  return importFolder({ ...common, includeHidden: flags.includeHidden ?? false }, parts)
}

const wait = (context: CliContext, flags: ImportFlags, { published, progress }: ImportParts) =>
  waitVisible(published, {
    readApi: context.readApi(PATIENCE_MS.bulk),
    progress,
    concurrency: flags.concurrency,
    limitMs: flags.timeout * 1000,
  })

function exitCodeOf({ failed, visibility }: ImportSummary): number {
  if (failed > 0) return new CliFailure('failed', '').exitCode
  return visibility && visibility.notVisible > 0 ? new CliFailure('not-yet', '').exitCode : 0
}

function eachLine({ path, noteId, outcome, revision, explanation }: FileOutcome): string {
  const detail = explanation === undefined ? '' : `: ${explanation}`
  return printable(`${outcome}  ${noteId}${revision === undefined ? '' : `:${revision}`}  ${path}${detail}`)
}
