import type { Role } from '../../core/auth.ts'
import type { ProcessName, ServiceName } from '../../lab/names.ts'
import type { LabState } from '../../lab/state.ts'

export type TokenOptions = {
  /** Default: one subject for all tests; idempotency keys are scoped to it. */
  readonly subject?: string
  /** Default: editor. */
  readonly roles?: readonly Role[]
  /** Default 600; negative for one that has expired. */
  readonly expiresInSeconds?: number
  readonly audience?: string
  readonly issuer?: string
}

/** A whole running pipeline, whatever runs it. Everything a test may do to it. */
export interface Lab {
  readonly dir: string
  readonly addresses: LabState['addresses']
  readonly databases: LabState['databases']
  readonly auth: LabState['auth']
  /** What a process of ours gets, so that a test can start another instance of it. */
  environment(service: ServiceName): Record<string, string>
  token(options?: TokenOptions): Promise<string>
  /** SIGKILL, children included. It is started again by itself. */
  kill(name: ProcessName): Promise<void>
  /** Orderly; stays down until `start`. */
  stop(name: ProcessName): Promise<void>
  start(name: ProcessName): Promise<void>
  restart(name: ProcessName): Promise<void>
  /** Alive and connected, but answering nothing (SIGSTOP), until `resume`. */
  pause(name: ProcessName): Promise<void>
  resume(name: ProcessName): Promise<void>
  /** Resolves when the process answers as ready. Default limit 60 s. */
  waitReady(name: ProcessName, limitMs?: number): Promise<void>
  /** Runs setup once more and says what it changed. */
  setup(): Promise<{ readonly changed: readonly string[]; readonly warnings: readonly string[] }>
}
