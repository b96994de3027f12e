import type { Random } from '../random.ts'
import {
  type Fault,
  type FaultKind,
  LINKS,
  PARTS,
  type PlannedFault,
  type Round,
  TERMINATED_ROLES,
} from './faults.ts'

/** How often each kind is drawn. */
const WEIGHTS: Readonly<Record<FaultKind, number>> = {
  kill: 20,
  stop: 10,
  pause: 14,
  cut: 12,
  delay: 8,
  hold: 12,
  sever: 8,
  'half-close': 8,
  rebalance: 5,
  'offsets-back': 3,
  replay: 5,
  terminate: 5,
  connector: 3,
}

const FAULTS_PER_ROUND = { one: 20, two: 35, three: 30, four: 15 } as const
const COUNT = { one: 1, two: 2, three: 3, four: 4 } as const
/** Faults of one round begin within this time, so that most of them overlap. */
const SPREAD_MS = 2_500

/** Targets in an order of their own for each kind, all of them before any again. */
class Deck<T> {
  readonly #all: readonly T[]
  readonly #random: Random
  #left: T[] = []

  constructor(all: readonly T[], random: Random) {
    this.#all = all
    this.#random = random
  }

  draw(): T {
    if (this.#left.length === 0) this.#left = this.#random.shuffled(this.#all)
    return this.#left.pop() as T
  }
}

/** Pure: an endless plan. The same random numbers give the same rounds, whatever happens while they run. */
export function* planRounds(random: Random): Generator<Round, never> {
  const draw = drawer(random)
  for (let number = 1; ; number++) {
    const count = COUNT[random.weighted(FAULTS_PER_ROUND)]
    const faults: PlannedFault[] = []
    const taken = new Set<string>()
    while (faults.length < count) {
      const fault = draw(random.weighted(WEIGHTS))
      const touched = partsTouchedBy(fault)
      // Two hands on one thing would undo each other.
      if (touched.some((part) => taken.has(part))) continue
      for (const part of touched) taken.add(part)
      const startsAfterMs = random.between(0, SPREAD_MS)
      faults.push({ ...fault, startsAfterMs, durationMs: durationOf(fault.kind, random) })
    }
    faults.sort((a, b) => a.startsAfterMs - b.startsAfterMs)
    yield { number, faults, calmMs: random.between(500, 2_500) }
  }
}

function drawer(random: Random): (kind: FaultKind) => Fault {
  const deckOf = <T>(kind: FaultKind, all: readonly T[]) => new Deck(all, random.fork(kind))
  const parts = { kill: deckOf('kill', PARTS), stop: deckOf('stop', PARTS), pause: deckOf('pause', PARTS) }
  const links = {
    cut: deckOf('cut', LINKS),
    delay: deckOf('delay', LINKS),
    hold: deckOf('hold', LINKS),
    sever: deckOf('sever', LINKS),
    'half-close': deckOf('half-close', LINKS),
  }
  const groups = deckOf('offsets-back', ['catalog', 'audit'] as const)
  const roles = deckOf('terminate', TERMINATED_ROLES)
  const hands = deckOf('connector', ['restart', 'pause'] as const)
  return (kind): Fault => {
    switch (kind) {
      case 'kill':
      case 'stop':
      case 'pause':
        return { kind, target: parts[kind].draw() }
      case 'cut':
      case 'hold':
      case 'sever':
        return { kind, target: links[kind].draw() }
      case 'delay':
        return { kind, target: links.delay.draw(), delayMs: random.between(20, 1_500) }
      case 'half-close':
        return { kind, target: links[kind].draw(), toward: random.pick(['client', 'server'] as const) }
      case 'rebalance':
        return { kind, target: 'projector-2' }
      case 'offsets-back':
        return { kind, target: groups.draw(), records: random.between(1, 2_000) }
      case 'replay':
        return { kind, target: 'outbox', notes: random.between(1, 50) }
      case 'terminate':
        return { kind, target: roles.draw() }
      case 'connector':
        return { kind, target: hands.draw() }
    }
  }
}

/** What a fault must have for itself while it lasts. */
function partsTouchedBy(fault: Fault): string[] {
  switch (fault.kind) {
    case 'offsets-back':
      return ['projector', 'projector-2', 'kafka']
    case 'connector':
      return ['connect', 'connector']
    case 'replay':
      return ['replay', 'source-db']
    case 'terminate':
      return [fault.target]
    default:
      return [fault.target]
  }
}

function durationOf(kind: FaultKind, random: Random): number {
  switch (kind) {
    case 'kill':
    case 'sever':
    case 'half-close':
    case 'offsets-back':
    case 'replay':
    case 'terminate':
      return 0
    default:
      // Mostly shorter than what clients wait for, now and then longer than every timeout but the session's.
      return random.chance(0.85) ? random.between(500, 5_000) : random.between(5_000, 14_000)
  }
}
