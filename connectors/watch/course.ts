import { isRunning } from '../../core/relay/connector-conditions.ts'
import { lastRead, type Observation } from './observation.ts'

/** What is remembered from reading to reading, to tell standing still from moving. Times are monotonic. */
export type CourseState = {
  readonly confirmedLsn: bigint | undefined
  readonly confirmedSinceMs: number
  readonly runningSinceMs: number | undefined
}

export const COURSE_BEGINS: CourseState = {
  confirmedLsn: undefined,
  confirmedSinceMs: 0,
  runningSinceMs: undefined,
}

/**
 * Takes one observation in. Pure. The slot stands still only while it is active and there is WAL that it has
 * not confirmed; while the source is not read, nothing is known and the time starts anew.
 */
export function follow(state: CourseState, seen: Observation, nowMs: number): CourseState {
  const slot = lastRead(seen.source)?.slot
  const confirmed = slot?.confirmedFlushLsn?.value
  const mayMove = slot?.active === true && confirmed !== undefined && (slot.lagBytes ?? 0) > 0
  const stays = mayMove && confirmed === state.confirmedLsn
  const status = lastRead(seen.connector)
  return {
    confirmedLsn: mayMove ? confirmed : undefined,
    confirmedSinceMs: stays ? state.confirmedSinceMs : nowMs,
    runningSinceMs: status && isRunning(status) ? (state.runningSinceMs ?? nowMs) : undefined,
  }
}
