import type { AlarmCode } from '../../core/relay/alarms.ts'
import { waitFor } from './wait.ts'

/** Does the watcher at that address raise the alarm now? */
export async function alarmHolds(watcherUrl: string, code: AlarmCode): Promise<boolean> {
  const text = await (await fetch(`${watcherUrl}/metrics`)).text()
  return text.includes(`relay_alarm{alarm="${code}",service="watcher"} 1\n`)
}

/** Every alarm is promised within a minute of its cause. */
export const alarmRaised = (watcherUrl: string, code: AlarmCode) =>
  waitFor(`the alarm ${code}`, () => alarmHolds(watcherUrl, code), { limitMs: 60_000 })
