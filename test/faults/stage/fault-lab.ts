import { LabError } from '../../../lab/follow.ts'
import type { ManagedProcess } from '../../../lab/managed-process.ts'
import { labPaths } from '../../../lab/paths.ts'
import { freePorts } from '../../../lab/ports.ts'
import { removeLab } from '../../../lab/servers/database-place.ts'
import { startLab, stopLab } from '../../../lab/start.ts'
import { readLabState } from '../../../lab/state.ts'
import type { Lab } from '../../support/lab-interface.ts'
import { NativeLab } from '../../support/native-lab.ts'
import { waitFor } from '../../support/wait.ts'
import { type Links, openLinks } from './links.ts'
import { faultLabRefusal, markFaultLab } from './own-mark.ts'
import { secondProjector } from './second-projector.ts'

export type FaultLab = {
  readonly lab: Lab
  readonly links: Links
  readonly projector2: ManagedProcess
  readonly projector2Url: string
  readonly logsDir: string
  /** Stops everything; its data and logs stay. */
  stop(): Promise<void>
}

/**
 * A native lab from nothing, with a proxy on every way between its parts, and a second projector.
 * @throws LabError when the folder holds anything but what an earlier fault run left
 */
export async function startFaultLab(dir: string, tell: (line: string) => void): Promise<FaultLab> {
  const refusal = faultLabRefusal(dir)
  if (refusal) throw new LabError(refusal)
  await using stack = new AsyncDisposableStack()
  await stopLab(dir)
  removeLab(dir)
  markFaultLab(dir)
  const links = await openLinks()
  stack.defer(() => links.close())
  await startLab(dir, { ports: links.ports, routes: links.routes, onProgress: tell })
  stack.defer(async () => void (await stopLab(dir)))
  const state = readLabState(dir)
  for (const [name, port] of Object.entries(links.ports)) {
    if (state?.ports[name] !== port) throw new Error(`port ${port} of ${name} was taken by another program`)
  }
  const lab = new NativeLab(dir)
  const [port2 = 0] = await freePorts(1)
  const projector2 = secondProjector(lab, links, port2)
  stack.defer(() => projector2.stop())
  await projector2.start()
  await waitFor('the second projector to be ready', () => projector2.status.state === 'ready', {
    limitMs: 60_000,
  })
  const owned = stack.move()
  return {
    lab,
    links,
    projector2,
    projector2Url: `http://127.0.0.1:${port2}`,
    logsDir: labPaths(dir).logs,
    stop: () => owned.disposeAsync(),
  }
}
