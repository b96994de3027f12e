import { Command } from 'commander'
import { registerActions } from './commands/actions.ts'
import { registerDiagnose } from './commands/diagnose.ts'
import { registerErase, registerErasures } from './commands/erase.ts'
import { registerGaps } from './commands/gaps.ts'
import { registerImport } from './commands/import.ts'
import { registerIntent } from './commands/intent.ts'
import { registerJourney, registerShow, registerWatch } from './commands/note.ts'
import { registerPositions } from './commands/positions.ts'
import { registerPublications } from './commands/publications.ts'
import { registerPublish } from './commands/publish.ts'
import { registerQuarantine } from './commands/quarantine.ts'
import { registerRebuild } from './commands/rebuild.ts'
import { registerRelay } from './commands/relay.ts'
import { registerReplay } from './commands/replay.ts'
import { registerRetention } from './commands/retention.ts'
import { registerToken } from './commands/token.ts'
import { registerTopic } from './commands/topic.ts'
import { registerVerify } from './commands/verify.ts'
import { registerWhere } from './commands/where.ts'
import { EXIT_CODES } from './failure.ts'
import { httpAddress } from './options.ts'

const EXIT_HELP = Object.values(EXIT_CODES)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')

const HELP = `
Addresses and keys come from options, else environment variables (docs/configuration.md), else the file
client.env in the lab's folder: --lab, LAB_DIR, .lab here, or .lab of the repository. Without --token or
NOTES_TOKEN a token is signed with AUTH_PRIVATE_KEY.
Results go to stdout, everything else to stderr.

Exit codes:
${EXIT_HELP}

First steps:
  bin/up
  echo '# Hello' | bin/notesctl publish --stdin --note hello
  bin/notesctl show hello`

/** Every command of notesctl. */
export function notesctlProgram(): Command {
  const program = new Command('notesctl')
    .description(
      'Client of the notes publication pipeline: save notes, follow them to the readers, look inside.',
    )
    .option('--json', 'print JSON, one value a line')
    .option('--lab <folder>', 'folder of the lab to talk to')
    .option('--write-api <url>', 'address of the write API', httpAddress)
    .option('--read-api <url>', 'address of the read API', httpAddress)
    .option('--console <url>', 'address of the operator API', httpAddress)
    .option('--token <jwt>', 'bearer token')
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(--help shows what there is, with examples)')
    .exitOverride()

  registerPublish(program)
  registerImport(program)
  registerShow(program)
  registerWatch(program)
  registerJourney(program)
  registerWhere(program)
  registerPublications(program)
  registerToken(program)
  registerTopic(program)
  registerRelay(program)
  registerReplay(program)
  registerIntent(program)
  registerRetention(program)
  registerActions(program)
  registerDiagnose(program)
  registerVerify(program)
  registerPositions(program)
  registerGaps(program)
  registerQuarantine(program)
  registerErase(program)
  registerErasures(program)
  registerRebuild(program)
  return program
}
