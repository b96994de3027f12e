import { PROJECTION_ROLES, SOURCE_ROLES } from '../database/roles.ts'

export const SERVERS = ['source-db', 'projection-db', 'kafka', 'registry', 'connect'] as const
export const SERVICES = ['write-api', 'projector', 'read-api', 'console', 'watcher'] as const
export type ServerName = (typeof SERVERS)[number]
export type ServiceName = (typeof SERVICES)[number]
export type ProcessName = ServerName | ServiceName

/** What is stopped first needs what is stopped later. Groups are stopped side by side. */
export const STOP_ORDER: readonly (readonly ProcessName[])[] = [
  ['write-api', 'projector', 'read-api', 'console', 'watcher'],
  ['connect'],
  ['kafka', 'registry'],
  ['source-db', 'projection-db'],
]

export const SOURCE_ROLE_NAMES = SOURCE_ROLES.map(({ name }) => name)
export const PROJECTION_ROLE_NAMES = PROJECTION_ROLES.map(({ name }) => name)
