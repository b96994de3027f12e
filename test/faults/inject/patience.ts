import { setTimeout as sleep } from 'node:timers/promises'
import { waitScale } from '../../support/wait.ts'

/**
 * What a tool of the runner needs may be taken away by another fault at the moment. It tries until it works;
 * the pipeline gets no such help.
 */
export async function insist<T>(what: string, act: () => Promise<T>, limitMs = 60_000): Promise<T> {
  const endAt = performance.now() + limitMs * waitScale
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (performance.now() > endAt) throw new Error(`the runner could not ${what}`, { cause: error })
      await sleep(200)
    }
  }
}
