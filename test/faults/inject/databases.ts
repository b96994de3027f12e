import { withClient } from '../../../database/connection.ts'
import type { Lab } from '../../support/lab-interface.ts'
import type { TerminatedRole } from '../schedule/faults.ts'
import { insist } from './patience.ts'

/** Ends every connection of one role, replication included. */
export async function terminateBackends(lab: Lab, role: TerminatedRole): Promise<void> {
  const url = role.startsWith('notes_') ? lab.databases.sourceAdmin : lab.databases.projectionAdmin
  await insist(`end the connections of ${role}`, () =>
    withClient(url, 'fault-run', async (client) => {
      await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role])
    }),
  )
}
