import type { Lab } from '../support/lab-interface.ts'
import type { CheckReport } from './checker/check.ts'

export async function watchEffects(_lab: Lab): Promise<void> {}

export async function judge(_lab: Lab, _historyFile: string): Promise<CheckReport | undefined> {
  return undefined
}
