import type { AlarmCode } from '../../core/relay/alarms.ts'
import type { Trouble, Troubles } from './raised.ts'

/** One row of the journal: what was not in order, from when to when. Times are of the source's clock. */
export type Incident = {
  readonly id: string
  readonly alarm: AlarmCode
  readonly openedAt: Date
  /** When it had lasted long enough to be an alarm; null: it has not. */
  readonly alarmedAt: Date | null
  readonly lastSeenAt: Date
  /** null: it holds. */
  readonly closedAt: Date | null
  /** Above 1: it came back soon after it had gone. */
  readonly occurrences: number
  /** Restarts of the connector that the watcher asked for meanwhile. */
  readonly restarts: number
  readonly firstText: string
  readonly lastText: string
  /** What the slot had confirmed when it was opened; null: not known. */
  readonly sourceLsn: string | null
  readonly details: Readonly<Record<string, unknown>>
}

/** By alarm: what is open, and what ended so recently that it goes on when it comes back. */
export type Journal = ReadonlyMap<AlarmCode, Incident>

export const EMPTY_JOURNAL: Journal = new Map()

export const INCIDENT_LIMITS = {
  /** What comes back sooner is the same incident: a task that fails after each restart is one. */
  reopenMs: 60_000,
  /** How far the stored "seen last" may trail: what a watcher that was killed leaves unknown. */
  touchMs: 15_000,
  textChars: 2_000,
} as const

export type Moment = {
  readonly troubles: Troubles
  readonly at: Date
  readonly sourceLsn: string | null
  /** Restarts asked for since the last step. */
  readonly restarts: number
}

/**
 * Takes one look at the relay into the journal. Pure.
 * @returns the journal, and the incidents that have to be written.
 */
export function keep(
  journal: Journal,
  moment: Moment,
  newId: () => string,
): { readonly journal: Journal; readonly changed: readonly Incident[] } {
  const next = new Map<AlarmCode, Incident>()
  const changed: Incident[] = []
  const put = (incident: Incident, isNews: boolean) => {
    next.set(incident.alarm, incident)
    if (isNews) changed.push(incident)
  }
  for (const trouble of moment.troubles.values()) {
    const before = journal.get(trouble.code)
    if (!before || !goesOn(before, moment.at)) put(opened(trouble, moment, newId()), true)
    else {
      const now = continued(before, trouble, moment)
      // Not each second that it holds is news: only what differs, and now and then that it was seen.
      const isNews = isNewsAfter(before, now)
      put(isNews ? now : { ...now, lastSeenAt: before.lastSeenAt, lastText: before.lastText }, isNews)
    }
  }
  for (const before of journal.values()) {
    if (moment.troubles.has(before.alarm)) continue
    if (before.closedAt === null) put(closed(before, moment.at), true)
    else if (goesOn(before, moment.at)) put(before, false)
  }
  return { journal: next, changed }
}

const ms = (from: Date, to: Date) => to.getTime() - from.getTime()
const latest = (a: Date, b: Date) => (a > b ? a : b)

const goesOn = ({ closedAt }: Incident, at: Date): boolean =>
  closedAt === null || ms(closedAt, at) < INCIDENT_LIMITS.reopenMs

const textOf = ({ reason, error }: Trouble): string => (error ?? reason).slice(0, INCIDENT_LIMITS.textChars)

/** Ages and counts in a text change from look to look; they make no new text. */
const shapeOf = (text: string): string => text.replace(/\d+/g, '#')

/** A restart belongs to the failure that it answers. */
const restartsFor = (code: AlarmCode, { restarts }: Moment): number => (code === 'task-failed' ? restarts : 0)

function opened(trouble: Trouble, moment: Moment, id: string): Incident {
  const text = textOf(trouble)
  return {
    id,
    alarm: trouble.code,
    openedAt: moment.at,
    alarmedAt: trouble.isAlarm ? moment.at : null,
    lastSeenAt: moment.at,
    closedAt: null,
    occurrences: 1,
    restarts: restartsFor(trouble.code, moment),
    firstText: text,
    lastText: text,
    sourceLsn: moment.sourceLsn,
    details: {},
  }
}

function continued(before: Incident, trouble: Trouble, moment: Moment): Incident {
  return {
    ...before,
    alarmedAt: before.alarmedAt ?? (trouble.isAlarm ? moment.at : null),
    lastSeenAt: latest(before.lastSeenAt, moment.at),
    closedAt: null,
    occurrences: before.occurrences + Number(before.closedAt !== null),
    restarts: before.restarts + restartsFor(trouble.code, moment),
    lastText: textOf(trouble),
  }
}

const isNewsAfter = (before: Incident, now: Incident): boolean =>
  before.closedAt !== null ||
  (before.alarmedAt === null) !== (now.alarmedAt === null) ||
  before.restarts !== now.restarts ||
  shapeOf(before.lastText) !== shapeOf(now.lastText) ||
  ms(before.lastSeenAt, now.lastSeenAt) >= INCIDENT_LIMITS.touchMs

function closed(before: Incident, at: Date): Incident {
  const closedAt = latest(before.lastSeenAt, at)
  const unseenMs = ms(before.lastSeenAt, closedAt)
  // Nobody watched in between: when it ended is known only to lie in there.
  const details =
    unseenMs > 2 * INCIDENT_LIMITS.touchMs
      ? { ...before.details, endedAfter: before.lastSeenAt.toISOString() }
      : before.details
  return { ...before, closedAt, details }
}

/**
 * Takes over what is open in the database: of a watcher that ran before, or runs beside this one. What both
 * know is one incident, the stored one. Pure.
 * @returns the journal, and own incidents that became a stored one: to be written under its id.
 */
export function adopt(
  journal: Journal,
  stored: readonly Incident[],
): {
  readonly journal: Journal
  readonly changed: readonly Incident[]
  readonly replaced: readonly string[]
} {
  const next = new Map(journal)
  const changed: Incident[] = []
  const replaced: string[] = []
  for (const theirs of stored) {
    const mine = journal.get(theirs.alarm)
    if (mine?.id === theirs.id) continue
    if (!mine) {
      next.set(theirs.alarm, theirs)
      continue
    }
    const one: Incident = {
      ...mine,
      id: theirs.id,
      openedAt: new Date(Math.min(theirs.openedAt.getTime(), mine.openedAt.getTime())),
      alarmedAt: theirs.alarmedAt ?? mine.alarmedAt,
      occurrences: theirs.occurrences + mine.occurrences - 1,
      restarts: theirs.restarts + mine.restarts,
      firstText: theirs.firstText,
      sourceLsn: theirs.sourceLsn ?? mine.sourceLsn,
      details: { ...theirs.details, ...mine.details },
    }
    next.set(one.alarm, one)
    changed.push(one)
    replaced.push(mine.id)
  }
  return { journal: next, changed, replaced }
}
