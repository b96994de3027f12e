import { ALARMS, type AlarmCode, type Condition } from '../../core/relay/alarms.ts'

/** One thing that is not in order, and whether it has lasted long enough to be an alarm. */
export type Trouble = Condition & { readonly sinceMs: number; readonly isAlarm: boolean }
export type Troubles = ReadonlyMap<AlarmCode, Trouble>

export const NO_TROUBLES: Troubles = new Map()

/**
 * What is an alarm now. Pure; times are monotonic. A condition becomes an alarm after its grace, so that a
 * restart of a part, which passes by itself, calls nobody; it ends with the condition.
 */
export function raise(before: Troubles, conditions: readonly Condition[], nowMs: number): Troubles {
  return new Map(
    conditions.map((condition) => {
      const sinceMs = before.get(condition.code)?.sinceMs ?? nowMs
      const isAlarm = nowMs - sinceMs >= ALARMS[condition.code].graceMs
      return [condition.code, { ...condition, sinceMs, isAlarm }]
    }),
  )
}

/** Alarms that began and that ended between two looks, for the log. Pure. */
export function changesOf(before: Troubles, now: Troubles) {
  const isAlarm = (troubles: Troubles, code: AlarmCode) => troubles.get(code)?.isAlarm === true
  return {
    begun: [...now.values()].filter(({ code, isAlarm: is }) => is && !isAlarm(before, code)),
    ended: [...before.values()].filter(({ code, isAlarm: is }) => is && !isAlarm(now, code)),
  }
}
