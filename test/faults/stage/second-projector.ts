import path from 'node:path'
import { ManagedProcess } from '../../../lab/managed-process.ts'
import { labPaths } from '../../../lab/paths.ts'
import { signalTree } from '../../../lab/proc.ts'
import { serviceProcess } from '../../../lab/services.ts'
import type { Lab } from '../../support/lab-interface.ts'
import { type Links, linkOf } from './links.ts'

/**
 * Another instance of the projector beside the lab's, kept alive in the same way, so that partitions have
 * somewhere to go. It is the runner's child: the lab does not know it.
 */
export function secondProjector(lab: Lab, links: Links, port: number): ManagedProcess {
  const env = lab.environment('projector')
  const via = (server: 'projection-db' | 'kafka' | 'registry') => linkOf(links, `projector-2->${server}`).port
  const atPort = (url: string | undefined, port: number) => {
    const changed = new URL(url ?? '')
    changed.port = String(port)
    return changed.href
  }
  const spec = serviceProcess('projector', {
    ...env,
    PORT: String(port),
    KAFKA_BROKERS: `127.0.0.1:${via('kafka')}`,
    PROJECTION_DATABASE_URL: atPort(env.PROJECTION_DATABASE_URL, via('projection-db')),
    SCHEMA_REGISTRY_URL: atPort(env.SCHEMA_REGISTRY_URL, via('registry')),
  })
  const managed = new ManagedProcess(spec, path.join(labPaths(lab.dir).logs, 'projector-2.log'), () => {})
  // It has a session of its own and would outlive a runner that was interrupted.
  process.once('exit', () => {
    if (managed.process) signalTree(managed.process.pid, 'SIGKILL')
  })
  return managed
}
