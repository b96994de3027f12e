import type { ControlClient } from './control-client.ts'
import type { Action } from './control-server.ts'

/** What brings a part up that does not come up by itself, and how to speak of it. */
const REMEDIES: Readonly<Record<string, { readonly action: Action; readonly told: string }>> = {
  held: { action: 'start', told: 'was stopped by hand: started' },
  paused: { action: 'continue', told: 'was paused by hand: continued' },
  failed: { action: 'start', told: 'could not be started earlier: started again' },
}

/**
 * Starts what was stopped by hand and continues what was paused, servers before services; resolves when
 * they are spawned, not when they are ready.
 * @returns their names
 * @throws ControlError when the supervisor cannot start one of them
 */
export async function startHeldParts(
  client: ControlClient,
  tell: (line: string) => void,
): Promise<readonly string[]> {
  const started: string[] = []
  // The report lists servers first.
  for (const { name, state } of (await client.report()).processes) {
    const remedy = REMEDIES[state]
    if (!remedy) continue
    await client.act(name, remedy.action)
    tell(`${name} ${remedy.told}`)
    started.push(name)
  }
  return started
}
