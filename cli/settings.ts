import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError, loadConfig, type VariableName } from '../core/config.ts'
import { CliFailure } from './failure.ts'

/** Options every command takes. */
export type GlobalOptions = {
  readonly json?: boolean
  readonly lab?: string
  readonly writeApi?: string
  readonly readApi?: string
  readonly console?: string
  readonly token?: string
}

/** Where each setting comes from: options before environment before the lab's `client.env`. */
export class Settings {
  readonly #values: NodeJS.ProcessEnv
  readonly #labFile: string
  readonly #labFound: boolean

  constructor(options: GlobalOptions, env: NodeJS.ProcessEnv = process.env) {
    this.#labFile = labFile(options, env)
    const fromLab = readLabFile(this.#labFile)
    this.#labFound = fromLab !== undefined
    const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
    this.#values = {
      ...fromLab,
      ...present,
      ...(options.writeApi && { WRITE_API_URL: options.writeApi }),
      ...(options.readApi && { READ_API_URL: options.readApi }),
      ...(options.console && { CONSOLE_URL: options.console }),
      ...(options.token && { NOTES_TOKEN: options.token }),
    }
  }

  /** @throws CliFailure naming every variable that is missing or wrong, and where it could come from. */
  require<Name extends VariableName>(...names: Name[]): ReturnType<typeof loadConfig<Name>> {
    try {
      return loadConfig(names, this.#values)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const lab = this.#labFound
        ? `The lab's settings were read from ${this.#labFile}.`
        : `No lab was found (no file ${this.#labFile}). Start one with bin/up, or name its folder with --lab or LAB_DIR.`
      throw new CliFailure('usage', `${error.message}\n${lab}`)
    }
  }

  /** As it was given, for messages; undefined when it was not. */
  text(name: VariableName): string | undefined {
    return this.#values[name] || undefined
  }

  has(name: VariableName): boolean {
    return Boolean(this.#values[name])
  }
}

const REPOSITORY = join(import.meta.dirname, '..')

function labFile(options: GlobalOptions, env: NodeJS.ProcessEnv): string {
  const named = options.lab ?? env.LAB_DIR
  if (named) return join(named, 'client.env')
  const here = join(process.cwd(), '.lab', 'client.env')
  return existsSync(here) ? here : join(REPOSITORY, '.lab', 'client.env')
}

function readLabFile(path: string): Record<string, string> | undefined {
  try {
    return parseEnv(readFileSync(path, 'utf8')) as Record<string, string>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CliFailure(
      'usage',
      `The lab's settings cannot be read from ${path} (${(error as NodeJS.ErrnoException).code}). The file is readable only by the user who started the lab; run the command as that user.`,
    )
  }
}
