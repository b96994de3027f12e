import type { ProcessName } from '../../../lab/names.ts'

/** Everything that can be killed, stopped and paused. */
export const PARTS = [
  'write-api',
  'projector',
  'projector-2',
  'read-api',
  'watcher',
  'console',
  'connect',
  'kafka',
  'source-db',
  'projection-db',
  'registry',
] as const satisfies readonly (ProcessName | 'projector-2')[]
export type Part = (typeof PARTS)[number]

/** Every way that leads through a proxy: `<who connects>-><server>`. */
export const LINKS = [
  'editors->write-api',
  'readers->read-api',
  'write-api->source-db',
  'write-api->registry',
  'write-api->read-api',
  'projector->projection-db',
  'projector->kafka',
  'projector->registry',
  'projector-2->projection-db',
  'projector-2->kafka',
  'projector-2->registry',
  'read-api->projection-db',
  'watcher->source-db',
  'watcher->projection-db',
  'watcher->kafka',
  'watcher->connect',
  'console->source-db',
  'console->projection-db',
  'console->kafka',
  'console->connect',
  'connect->source-db',
  'connect->kafka',
] as const
export type LinkName = (typeof LINKS)[number]

/**
 * What can be done to the pipeline. Each is taken back by the runner after its duration where it lasts, and
 * by nobody where it does not: what then has to happen is the pipeline's own business.
 */
export type Fault =
  /**
   * kill: SIGKILL; its supervisor starts it again. stop: orderly, started again at the end. pause: SIGSTOP until
   * the end, so that it is alive and connected and answers nothing.
   */
  | { readonly kind: 'kill' | 'stop' | 'pause'; readonly target: Part }
  /**
   * cut: connections are reset, new ones too until the end. hold: a black hole, nothing passes and nobody is
   * told. sever: open connections are reset once.
   */
  | { readonly kind: 'cut' | 'hold' | 'sever'; readonly target: LinkName }
  | { readonly kind: 'delay'; readonly target: LinkName; readonly delayMs: number }
  /** One direction of every open connection is ended. */
  | { readonly kind: 'half-close'; readonly target: LinkName; readonly toward: 'client' | 'server' }
  /** The second projector leaves its groups and comes back at the end. */
  | { readonly kind: 'rebalance'; readonly target: 'projector-2' }
  /** A tool moves the group's committed offsets back, with no member there, by up to this many records. */
  | { readonly kind: 'offsets-back'; readonly target: 'catalog' | 'audit'; readonly records: number }
  /** Records are sent again through the signal table. */
  | { readonly kind: 'replay'; readonly target: 'outbox'; readonly notes: number }
  /** An administrator ends the database connections of one role. */
  | { readonly kind: 'terminate'; readonly target: TerminatedRole }
  /** Somebody restarts, or pauses and later resumes, the connector over Connect's REST API. */
  | { readonly kind: 'connector'; readonly target: 'restart' | 'pause' }

export const TERMINATED_ROLES = [
  'notes_write_api',
  'notes_debezium',
  'notes_watcher',
  'projection_projector',
  'projection_read_api',
] as const
export type TerminatedRole = (typeof TERMINATED_ROLES)[number]

export type FaultKind = Fault['kind']

export type PlannedFault = Fault & {
  /** Milliseconds after the round's start. */
  readonly startsAfterMs: number
  /** How long it lasts; 0 when it is over at once. */
  readonly durationMs: number
}

/** Faults that overlap. The next round begins when the pipeline is whole again after this one. */
export type Round = {
  readonly number: number
  readonly faults: readonly PlannedFault[]
  readonly calmMs: number
}
