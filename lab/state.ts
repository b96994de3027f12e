import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { writePrivateFile } from './files.ts'
import { PROJECTION_ROLE_NAMES, SERVERS, SERVICES, SOURCE_ROLE_NAMES } from './names.ts'
import { labPaths } from './paths.ts'

const Address = z.object({ host: z.string(), port: z.int() })
const Running = z.object({ pid: z.int(), startTime: z.string(), logFile: z.string() })

/** <LAB_DIR>/lab.json: what runs and how to reach it. It holds passwords: mode 0600. */
const LabStateShape = z.object({
  supervisorPid: z.int(),
  supervisorStartTime: z.string(),
  /** Unix socket; see lab/control-server.ts. */
  controlSocket: z.string(),
  addresses: z.object({
    sourceDb: Address,
    projectionDb: Address,
    kafkaBrokers: z.string(),
    registryUrl: z.string(),
    connectUrl: z.string(),
    writeApiUrl: z.string(),
    readApiUrl: z.string(),
    projectorUrl: z.string(),
    watcherUrl: z.string(),
    consoleUrl: z.string(),
  }),
  databases: z.object({
    source: z.record(z.enum(SOURCE_ROLE_NAMES), z.string()),
    projection: z.record(z.enum(PROJECTION_ROLE_NAMES), z.string()),
    sourceAdmin: z.string(),
    projectionAdmin: z.string(),
  }),
  /** What each of our processes gets, so that another instance can be started beside it. */
  environments: z.record(z.enum([...SERVICES, 'setup']), z.record(z.string(), z.string())),
  auth: z.object({
    issuer: z.string(),
    audience: z.string(),
    jwksPath: z.string(),
    privateKeyPath: z.string(),
  }),
  ports: z.record(z.string(), z.int()),
  processes: z.partialRecord(z.enum([...SERVERS, ...SERVICES]), Running),
})
export type LabState = z.infer<typeof LabStateShape>

type Found =
  | { readonly status: 'absent' }
  | { readonly status: 'damaged'; readonly why: string }
  | { readonly status: 'read'; readonly state: LabState }

function findLabState(labDir: string): Found {
  let text: string
  try {
    text = readFileSync(labPaths(labDir).state, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { status: 'absent' }
    throw error
  }
  try {
    return { status: 'read', state: LabStateShape.parse(JSON.parse(text)) }
  } catch (error) {
    // The parser's own message may quote passwords of the file.
    const field = error instanceof z.ZodError ? error.issues[0]?.path.join('.') : undefined
    return { status: 'damaged', why: field ? `${field} is not as expected` : 'it is no such JSON' }
  }
}

/** undefined when no lab was ever started there, or its file is damaged or of another version. */
export function readLabState(labDir: string): LabState | undefined {
  const found = findLabState(labDir)
  return found.status === 'read' ? found.state : undefined
}

/** For a person: that lab.json is there but useless, and what is done without it. */
export function damagedStateText(labDir: string): string | undefined {
  const found = findLabState(labDir)
  if (found.status !== 'damaged') return undefined
  return `${labPaths(labDir).state} cannot be used (${found.why}): damaged, or of another version. Going on without it; what still runs of this lab is found by its environment. The data is untouched, the next bin/up writes the file anew.`
}

export function writeLabState(labDir: string, state: LabState): void {
  writePrivateFile(labPaths(labDir).state, `${JSON.stringify(state, null, 2)}\n`)
}
