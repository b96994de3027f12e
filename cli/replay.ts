import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { CliFailure, EXIT_CODES } from './failure.ts'
import type { ConsoleApi } from './http/console.ts'
import { counted, printable } from './output.ts'

const Consumer = z.looseObject({
  consumer: z.string(),
  generation: z.int(),
  live: z.boolean(),
  result: z.string(),
  explanation: z.string(),
})
const Key = z.looseObject({
  noteId: z.string(),
  revision: z.int(),
  eventId: z.string(),
  state: z.enum(['waiting', 'requested', 'seen', 'refused']),
  refusedWhy: z.string().nullable(),
  record: z
    .looseObject({ topic: z.string(), partition: z.int(), offset: z.string(), seenAt: z.string() })
    .nullable(),
  consumers: z.array(Consumer),
})
type Key = z.infer<typeof Key>
const Refused = z.looseObject({
  count: z.int(),
  keys: z.array(
    z.looseObject({ noteId: z.string(), revision: z.int(), why: z.string(), explanation: z.string() }),
  ),
})
export const Replay = z.looseObject({
  id: z.string(),
  status: z.enum(['running', 'finished', 'cancelled']),
  waitsFor: z.string().nullable(),
  counts: z.object({ waiting: z.int(), requested: z.int(), seen: z.int(), refused: z.int() }),
  notReplayable: Refused,
  keys: z.array(Key),
  nextAfter: z.int().nullable(),
})
export type Replay = z.infer<typeof Replay>

export const ReplayPlan = z.looseObject({
  count: z.int(),
  keys: z.array(z.looseObject({ noteId: z.string(), revision: z.int() })),
  refused: Refused,
  relay: z.looseObject({ ready: z.boolean(), explanation: z.string() }),
  auditHasRead: z.boolean().nullable(),
})
export type ReplayPlan = z.infer<typeof ReplayPlan>

const LOOK_EVERY_MS = 300
const SHOWN_KEYS = 20
/** Nobody has said yet what became of the record. */
const OPEN_RESULTS = ['not-seen', 'unknown']
const BAD_RESULTS = ['conflict', 'held', 'quarantined']

/** @throws CliFailure when the operator API knows none of this id */
export async function lookAtReplay(api: ConsoleApi, id: string): Promise<Replay> {
  const replay = await api.look(`/replays/${id}?limit=500`, Replay, 'The replay')
  if (!replay) throw new CliFailure('not-found', `The operator API knows no replay ${id}.`)
  return replay
}

/** Is there nothing more to wait for? Pure. Of a large replay its first keys stand for all. */
export const isSettled = ({ status, keys }: Replay): boolean =>
  status !== 'running' &&
  keys.every(
    ({ state, consumers }) =>
      state !== 'seen' || consumers.every(({ result }) => !OPEN_RESULTS.includes(result)),
  )

/** Looks until it is settled or the time is over, and tells how it moves. It goes on when nobody looks. */
export async function followReplay(
  api: ConsoleApi,
  id: string,
  waitSeconds: number,
  tell: (line: string) => void,
): Promise<Replay> {
  const deadline = performance.now() + waitSeconds * 1_000
  for (let told = ''; ; ) {
    const replay = await lookAtReplay(api, id)
    if (isSettled(replay) || performance.now() > deadline) return replay
    const line = progressLine(replay)
    if (line !== told) tell(line)
    told = line
    await sleep(LOOK_EVERY_MS)
  }
}

function progressLine({ counts, waitsFor }: Replay): string {
  const all = counts.waiting + counts.requested + counts.seen + counts.refused
  return [`${counts.seen} of ${counted(all, 'revision')} sent again and seen`, waitsFor ?? '']
    .filter(Boolean)
    .join('; ')
}

/** done, failed where something was refused or cannot be applied, not-yet where something is still open. Pure. */
export function exitCodeOfReplay(replay: Replay): number {
  if (!isSettled(replay)) return EXIT_CODES['not-yet'][0]
  const isBad =
    replay.status === 'cancelled' ||
    replay.counts.refused > 0 ||
    replay.notReplayable.count > 0 ||
    replay.keys.some(({ consumers }) => consumers.some(({ result }) => BAD_RESULTS.includes(result)))
  return isBad ? EXIT_CODES.failed[0] : EXIT_CODES.done[0]
}

/** A replay for people. Pure. */
export function replayLines(replay: Replay): string[] {
  const { id, status, keys, notReplayable } = replay
  const unknown = keys.filter(({ state }) => state === 'waiting' || state === 'requested')
  return [
    ...keys.slice(0, SHOWN_KEYS).flatMap(keyLines),
    ...(keys.length > SHOWN_KEYS ? [`… and more: ${progressLine(replay)}`] : []),
    ...refusedLines(notReplayable),
    ...(isSettled(replay)
      ? []
      : [
          `Still unknown: ${unknown.length > 0 ? `whether ${counted(unknown.length, 'record')} came` : 'what a consumer does with a record'}.${replay.waitsFor ? ` ${replay.waitsFor}` : ''}`,
          `It goes on by itself. Look again with: bin/notesctl replay show ${id}`,
        ]),
    `Replay ${id} is ${status}: ${progressLine(replay)}. Recorded with who and why.`,
  ].map(printable)
}

function keyLines({ noteId, revision, eventId, state, refusedWhy, record, consumers }: Key): string[] {
  const name = `${noteId}:${revision}`
  if (state === 'refused') return [`${name}: not sent, ${refusedWhy}`]
  if (!record)
    return [`${name}: ${state === 'waiting' ? 'not sent for yet' : 'asked for, no new record seen yet'}`]
  return [
    `${name}: event ${eventId} is again in ${record.topic}, partition ${record.partition}, offset ${record.offset}, seen ${record.seenAt}`,
    ...consumers.map(
      ({ consumer, generation, live, result, explanation }) =>
        `  ${consumer}${consumer === 'audit' ? '' : ` generation ${generation}${live ? ', live' : ''}`}: ${result}. ${explanation}`,
    ),
  ]
}

const refusedLines = ({ count, keys }: Replay['notReplayable']): string[] => [
  ...keys
    .slice(0, SHOWN_KEYS)
    .map(
      ({ noteId, revision, why, explanation }) => `${noteId}:${revision}: not sent, ${why}: ${explanation}`,
    ),
  ...(count > SHOWN_KEYS ? [`… and ${count - SHOWN_KEYS} more that cannot be replayed`] : []),
]

/** What a dry run found, for people. Pure. */
export function replayPlanLines(
  { count, keys, refused, relay, auditHasRead }: ReplayPlan,
  rate: number,
): string[] {
  return [
    `Would send ${counted(count, 'revision')} again, at ${rate} a second in about ${Math.ceil(count / rate)} s. Nothing was sent.`,
    ...keys.slice(0, SHOWN_KEYS).map(({ noteId, revision }) => `  ${noteId}:${revision}`),
    ...(count > SHOWN_KEYS ? [`  … and ${count - SHOWN_KEYS} more`] : []),
    ...refusedLines(refused),
    relay.ready ? 'The relay can bring them now.' : `The relay cannot bring them now: ${relay.explanation}`,
    ...(auditHasRead === false
      ? ['Audit has not read the topic to its end yet, so some of these may only not have been seen so far.']
      : []),
  ].map(printable)
}
