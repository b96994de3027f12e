import { readFileSync } from 'node:fs'
import { importJWK, type JWK, SignJWT } from 'jose'
import { ControlClient } from '../../lab/control-client.ts'
import type { ProcessName, ServiceName } from '../../lab/names.ts'
import { type LabState, readLabState } from '../../lab/state.ts'
import type { Lab, TokenOptions } from './lab-interface.ts'
import { waitScale } from './wait.ts'

/** The lab of a folder, by its lab.json and its supervisor's control socket. */
export class NativeLab implements Lab {
  readonly dir: string
  readonly #state: LabState
  readonly #control: ControlClient

  constructor(dir: string) {
    const state = readLabState(dir)
    if (!state) throw new Error(`There is no lab in ${dir}.`)
    this.dir = dir
    this.#state = state
    this.#control = new ControlClient(state.controlSocket)
  }

  get addresses() {
    return this.#state.addresses
  }

  get databases() {
    return this.#state.databases
  }

  get auth() {
    return this.#state.auth
  }

  environment(service: ServiceName): Record<string, string> {
    return { ...this.#state.environments[service] }
  }

  async token(options: TokenOptions = {}): Promise<string> {
    const jwk = JSON.parse(readFileSync(this.auth.privateKeyPath, 'utf8')) as JWK & { alg: string }
    const nowSeconds = Math.floor(Date.now() / 1000)
    return new SignJWT({ roles: options.roles ?? ['editor'] })
      .setProtectedHeader({ alg: jwk.alg, ...(jwk.kid ? { kid: jwk.kid } : {}) })
      .setIssuer(options.issuer ?? this.auth.issuer)
      .setAudience(options.audience ?? this.auth.audience)
      .setSubject(options.subject ?? 'test-editor')
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + (options.expiresInSeconds ?? 600))
      .sign(await importJWK(jwk, jwk.alg))
  }

  kill(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'kill')
  }

  stop(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'stop')
  }

  start(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'start')
  }

  restart(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'restart')
  }

  pause(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'pause')
  }

  resume(name: ProcessName): Promise<void> {
    return this.#control.act(name, 'continue')
  }

  waitReady(name: ProcessName, limitMs = 60_000): Promise<void> {
    return this.#control.waitReady(name, limitMs * waitScale)
  }

  async setup(): Promise<{ changed: string[]; warnings: string[] }> {
    const { setup } = await this.#control.setup()
    return { changed: setup.changed, warnings: setup.warnings }
  }
}
