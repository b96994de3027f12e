import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Journey } from '../cli/journey.ts'
import { stepRow, stepsOf } from '../cli/journey-steps.ts'
import { columns } from '../cli/output.ts'
import { addressLines } from './addresses.ts'
import { NAMES } from './layout.ts'
import { REPOSITORY } from './paths.ts'
import type { LabState } from './state.ts'

/** One file, as `notesctl import --each --json` prints it. */
const EachFile = z.object({ noteId: z.string(), outcome: z.string(), revision: z.int() })
const Summary = z.object({
  found: z.int(),
  notes: z.int(),
  published: z.int(),
  unchanged: z.int(),
  failed: z.int(),
  elapsedMs: z.number(),
  failures: z.array(z.object({ path: z.string(), explanation: z.string() })),
  visibility: z.object({ visible: z.int() }).optional(),
})

/** Something the main job needs did not do its part; the message is for a person. */
export class MainJobError extends Error {
  override name = 'MainJobError'
}

type Imported = {
  readonly summary: z.infer<typeof Summary>
  /** The note whose way is shown: one from the middle of what was published now, else any. */
  readonly example: { readonly noteId: string; readonly revision: number } | undefined
  /** When the read API first showed the example; undefined when it was published in an earlier run. */
  readonly firstVisibleAt: Date | undefined
}

export type MainJobOptions = {
  readonly labDir: string
  readonly state: LabState
  /** Names of the lab's processes. */
  readonly processes: readonly string[]
  /** The folder bin/up was called from; commands are printed for it. */
  readonly calledFrom: string
  readonly tell: (line: string) => void
}

/** The note in whose way everybody looks: late enough that nothing starts for the first time. */
const EXAMPLE_NUMBER = 100

/**
 * Publishes the Markdown of the installed npm packages and shows what came of it.
 * @returns whether every note that was accepted is visible. A file that cannot be a note is reported only.
 */
export async function runMainJob(options: MainJobOptions): Promise<boolean> {
  const { labDir, state, processes, calledFrom, tell } = options
  tell('\nPublishing the Markdown of the installed npm packages')
  const { summary, example, firstVisibleAt } = await importMarkdown(labDir, state)
  const accepted = summary.published + summary.unchanged
  const visible = summary.visibility?.visible ?? 0
  const seconds = (summary.elapsedMs / 1000).toFixed(1)
  tell(
    `${summary.published} notes published, ${summary.unchanged} unchanged (${seconds} s); ${visible} of ${accepted} visible at the read API`,
  )
  for (const { path: file, explanation } of summary.failures) tell(`  not published: ${file}. ${explanation}`)
  if (!example) return visible >= accepted
  const journey = await readJourney(labDir, example)
  tell(`\nThe way of ${example.noteId}, revision ${example.revision}`)
  for (const line of wayOf(journey, firstVisibleAt)) tell(`  ${line}`)
  tell(`\n${addressLines(state, processes).join('\n')}`)
  tell(`\nTry next\n${nextCommands({ labDir, state, calledFrom }, journey).join('\n')}`)
  return visible >= accepted
}

function notesctl(labDir: string, args: readonly string[]) {
  return spawn(path.join(REPOSITORY, 'bin', 'notesctl'), args, {
    cwd: REPOSITORY,
    env: { ...process.env, LAB_DIR: labDir },
    // The progress bar and messages for people go straight to the terminal.
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function importMarkdown(labDir: string, state: LabState): Promise<Imported> {
  const child = notesctl(labDir, [
    ...['import', 'node_modules', '--prefix', 'npm', '--wait-visible'],
    ...['--each', '--json'],
  ])
  let summary: Imported['summary'] | undefined
  let example: Imported['example']
  let seen: Promise<Date | undefined> = Promise.resolve(undefined)
  let published = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const value: unknown = JSON.parse(line)
    summary = Summary.safeParse(value).data ?? summary
    const file = EachFile.safeParse(value).data
    if (!file) continue
    if (file.outcome === 'published' && ++published <= EXAMPLE_NUMBER) {
      example = file
      if (published === EXAMPLE_NUMBER) seen = firstVisible(state.addresses.readApiUrl, file)
    }
    example ??= file
  }
  if (!summary) {
    throw new MainJobError(
      'The notes were not all published: notesctl import ended early, its message is above. The lab runs on: npm run lab shows it, bin/up tries again.',
    )
  }
  return { summary, example, firstVisibleAt: await seen }
}

/** Asks the read API to answer as soon as it has the revision. */
async function firstVisible(
  readApiUrl: string,
  { noteId, revision }: { noteId: string; revision: number },
): Promise<Date | undefined> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const response = await fetch(`${readApiUrl}/notes/${noteId}?minRevision=${revision}`, {
      headers: { Prefer: 'wait=10' },
    }).catch(() => undefined)
    await response?.arrayBuffer().catch(() => undefined)
    if (response?.ok) return new Date()
  }
  return undefined
}

async function readJourney(
  labDir: string,
  { noteId, revision }: { noteId: string; revision: number },
): Promise<Journey> {
  const child = notesctl(labDir, ['journey', `${noteId}:${revision}`, '--json'])
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  try {
    return JSON.parse(text)
  } catch {
    throw new MainJobError(
      `The notes are published, but notesctl journey ${noteId} did not answer; its message is above.`,
    )
  }
}

function wayOf(journey: Journey, firstVisibleAt: Date | undefined): string[] {
  const steps = stepsOf(journey).map((step) =>
    step.name === 'visible' && firstVisibleAt
      ? { ...step, at: firstVisibleAt.toISOString(), what: 'the read API shows it (first answer with it)' }
      : step,
  )
  const inOrder = steps.toSorted((a, b) => (a.at ?? '').localeCompare(b.at ?? ''))
  return [
    ...columns(inOrder.map((step) => stepRow(step, journey.committed?.at ?? null))),
    ...journey.gaps.map(({ step, why }) => `not known: ${step}: ${why}`),
  ]
}

type Place = Pick<MainJobOptions, 'labDir' | 'state' | 'calledFrom'>

/** Three commands that work as they stand in the folder bin/up was called from. */
function nextCommands({ labDir, state, calledFrom }: Place, journey: Journey): string[] {
  const tool = calledFrom === REPOSITORY ? 'bin/notesctl' : path.join(REPOSITORY, 'bin', 'notesctl')
  const lab = labDir === path.join(REPOSITORY, '.lab') ? '' : ` --lab ${labDir}`
  const { kafkaBrokers, readApiUrl } = state.addresses
  const { topic, partition, offset } = journey.kafka ?? {
    topic: NAMES.topic,
    partition: 0,
    offset: 'beginning',
  }
  return [
    `  curl -i ${readApiUrl}/notes/${journey.noteId}`,
    `  kcat -C -q -b ${kafkaBrokers} -t ${topic} -p ${partition} -o ${offset} -c 1 -f 'key %k, partition %p, offset %o, value %S bytes\\nheaders %h\\n'`,
    `  ${tool} journey ${journey.noteId}${lab}`,
  ]
}
