export const SERVERS = ['source-db', 'projection-db', 'kafka', 'registry', 'connect'] as const
export const SERVICES = ['write-api', 'projector', 'read-api', 'watcher'] as const
export type ServerName = (typeof SERVERS)[number]
export type ServiceName = (typeof SERVICES)[number]
export type ProcessName = ServerName | ServiceName

/** What is stopped first needs what is stopped later. Groups are stopped side by side. */
export const STOP_ORDER: readonly (readonly ProcessName[])[] = [
  ['write-api', 'projector', 'read-api', 'watcher'],
  ['connect'],
  ['kafka', 'registry'],
  ['source-db', 'projection-db'],
]

export const SOURCE_ROLES = [
  'notes_owner',
  'notes_write_api',
  'notes_debezium',
  'notes_watcher',
  'notes_operator',
  'notes_verifier',
] as const
export const PROJECTION_ROLES = [
  'projection_owner',
  'projection_projector',
  'projection_read_api',
  'projection_watcher',
  'projection_operator',
  'projection_verifier',
] as const
