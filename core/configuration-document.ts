import { z } from 'zod'
import { PROCESS_VARIABLES, type ProcessName, VARIABLES, type VariableName } from './config.ts'

const INTRODUCTION = `# Configuration

<!-- Printed from core/config.ts by \`npm run docs:configuration\`; a test keeps the two equal. Change it there. -->

Every process reads its settings from environment variables, once, at start. A variable that is missing or wrong stops the start (exit code 2) with all problems named; values are not echoed. \`bin/up\` sets all of this for the native lab; \`notesctl\` takes what it is not given from the lab's \`client.env\`, and each of its commands asks only for what it uses. Limits that are not settings: [limits.md](limits.md).
`

const OTHERS = `Variables whose name begins with \`OTEL_\` are OpenTelemetry's; the exporter reads more of them: [tracing.md](tracing.md).

## The lab and the tests

| Variable | Meaning |
|---|---|
| \`LAB_DIR\` | Folder of the lab, for \`bin/up\`, \`bin/down\` and \`notesctl\`. Default \`.lab\`. |
| \`TEST_LAB_DIR\` | Folder of the lab that the tests start; a whole run of bin/test starts two more beside it, with \`-pipeline\` and \`-projector\` appended. Default \`.lab-test\`. |
| \`TEST_RELAY_POLL_MS\` | \`poll.interval.ms\` of the connector in the lab that the tests start, instead of what \`connectors/outbox-connector.json\` says; bin/test slows down where the relay is not what is tried. |
| \`LAB_KEEP\` | \`1\`: tests use a running lab in that folder and leave it running. |
| \`XDG_CACHE_HOME\` | Where the lab keeps its jars, in \`notes-lab\`. Default \`~/.cache\`. |
| \`OTEL_…\` | Handed on by \`bin/up\` to the processes of ours that trace. |
| \`WAIT_SCALE\` | Stretches every waiting limit, for a slow machine. Default 1. |
| \`TEST_LONG\` | \`1\`: tests that need minutes run in full (\`npm run test:long\`). |
`

/** What a variable takes, in words, from its schema. */
function values(name: VariableName): string {
  const describe = (io: 'input' | 'output') => z.toJSONSchema(VARIABLES[name], { unrepresentable: 'any', io })
  // What is transformed says what it takes only on the input side; a number out of text only on the output side.
  const output = describe('output')
  const schema = output.type ? output : describe('input')
  if (schema.format === 'uri') return 'URL'
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.minimum} to ${schema.maximum}`
  if (schema.type === 'array') return 'list'
  return 'text'
}

function defaultOf(name: VariableName): string {
  const parsed = VARIABLES[name].safeParse(undefined)
  if (!parsed.success) return 'required'
  return parsed.data === undefined ? 'none' : `\`${String(parsed.data)}\``
}

const meaning = (name: VariableName) => (VARIABLES[name].description ?? '').replaceAll('<', '&lt;')

function sectionOf(process: ProcessName): string {
  const rows = PROCESS_VARIABLES[process].map(
    (name) => `| \`${name}\` | ${values(name)} | ${defaultOf(name)} | ${meaning(name)} |`,
  )
  return [
    `## ${process}\n`,
    '| Variable | Values | Default | Meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** docs/configuration.md: which process reads which variable, with values, default and meaning. */
export const configurationDocument = (): string =>
  [
    INTRODUCTION,
    ...Object.keys(PROCESS_VARIABLES).map((process) => sectionOf(process as ProcessName)),
    OTHERS,
  ].join('\n')

if (import.meta.main) process.stdout.write(configurationDocument())
