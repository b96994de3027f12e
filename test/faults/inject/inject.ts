import type { Random } from '../random.ts'
import type { Fault } from '../schedule/faults.ts'
import type { FaultLab } from '../stage/fault-lab.ts'
import { linkOf } from '../stage/links.ts'
import type { Parts } from '../stage/parts.ts'
import { pauseConnector, restartConnector, resumeConnector } from './connector.ts'
import { terminateBackends } from './databases.ts'
import { moveOffsetsBack } from './offsets.ts'
import { insist } from './patience.ts'
import { type KnownNote, replay } from './replay.ts'

export type InjectParts = {
  readonly stage: FaultLab
  readonly parts: Parts
  /** Revisions that were accepted so far, for replays. */
  readonly accepted: () => readonly KnownNote[]
  readonly random: Random
}

/** A fault that is there. `heal` takes it back; where nothing lasts it does nothing. */
export type Injected = { heal(): Promise<void> }

const OVER: Injected = { heal: async () => undefined }

/** Resolves when the fault is there. @throws when it could not be brought about. */
export async function inject(
  fault: Fault,
  { stage, parts, accepted, random }: InjectParts,
): Promise<Injected> {
  switch (fault.kind) {
    case 'kill':
      await parts.kill(fault.target)
      return OVER
    case 'rebalance':
    case 'stop': {
      const stopped = parts.stop(fault.target)
      // A stop takes its time; the fault lasts from the order on.
      stopped.catch(() => undefined)
      return { heal: () => insist(`start ${fault.target}`, () => parts.start(fault.target)) }
    }
    case 'pause':
      await parts.pause(fault.target)
      return { heal: () => insist(`continue ${fault.target}`, () => parts.resume(fault.target)) }
    case 'cut':
    case 'hold':
    case 'delay': {
      const link = linkOf(stage.links, fault.target)
      link.set(fault.kind === 'delay' ? { kind: 'delay', delayMs: fault.delayMs } : { kind: fault.kind })
      return { heal: async () => link.set({ kind: 'pass' }) }
    }
    case 'sever':
      linkOf(stage.links, fault.target).sever()
      return OVER
    case 'half-close':
      linkOf(stage.links, fault.target).halfClose(fault.toward)
      return OVER
    case 'offsets-back':
      await moveOffsetsBack(stage.lab, parts, fault.target, fault.records)
      return OVER
    case 'replay':
      await replay(stage.lab, accepted(), fault.notes, random)
      return OVER
    case 'terminate':
      await terminateBackends(stage.lab, fault.target)
      return OVER
    case 'connector':
      if (fault.target === 'restart') {
        await restartConnector(stage.lab)
        return OVER
      }
      await pauseConnector(stage.lab)
      return { heal: () => resumeConnector(stage.lab) }
  }
}
