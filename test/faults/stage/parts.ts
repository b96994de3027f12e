import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from '../../../lab/control-client.ts'
import type { ProcessName } from '../../../lab/names.ts'
import { readLabState } from '../../../lab/state.ts'
import type { Part } from '../schedule/faults.ts'
import type { FaultLab } from './fault-lab.ts'

/** The hands on the parts: the lab's through its supervisor, the second projector's own. */
export class Parts {
  readonly #stage: FaultLab
  readonly #control: ControlClient

  constructor(stage: FaultLab) {
    this.#stage = stage
    this.#control = new ControlClient(readLabState(stage.lab.dir)?.controlSocket ?? '')
  }

  kill(part: Part): Promise<void> {
    return part === 'projector-2' ? this.#stage.projector2.kill() : this.#stage.lab.kill(part)
  }

  async pause(part: Part): Promise<void> {
    if (part === 'projector-2') this.#stage.projector2.pause()
    else await this.#stage.lab.pause(part)
  }

  async resume(part: Part): Promise<void> {
    if (part === 'projector-2') this.#stage.projector2.resume()
    else await this.#stage.lab.resume(part)
  }

  /** Told to stop; it may take as long as the part's own limits. */
  stop(part: Part): Promise<void> {
    return part === 'projector-2' ? this.#stage.projector2.stop() : this.#stage.lab.stop(part)
  }

  /** Starts it again, also when the stop is still on its way. */
  async start(part: Part): Promise<void> {
    for (;;) {
      const state = await this.stateOf(part)
      if (state !== 'stopping' && state !== 'held') return
      if (state === 'held') {
        if (part === 'projector-2') await this.#stage.projector2.start()
        else await this.#stage.lab.start(part)
      }
      await sleep(50)
    }
  }

  async stateOf(part: Part): Promise<string> {
    if (part === 'projector-2') return this.#stage.projector2.status.state
    return (await this.states()).get(part) ?? 'unknown'
  }

  /** The supervisor's view of the lab's own parts. */
  async states(): Promise<ReadonlyMap<ProcessName, string>> {
    const { processes } = await this.#control.report()
    return new Map(processes.map(({ name, state }) => [name as ProcessName, state]))
  }
}
