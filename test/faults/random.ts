import { createHash } from 'node:crypto'

/** Numbers that depend on nothing but a seed: the same seed gives the same ones on every machine. */
export class Random {
  #state: [number, number, number, number]
  readonly #seed: string

  constructor(seed: string) {
    this.#seed = seed
    const hash = createHash('sha256').update(seed).digest()
    this.#state = [
      hash.readUInt32LE(0),
      hash.readUInt32LE(4),
      hash.readUInt32LE(8),
      hash.readUInt32LE(12) | 1,
    ]
  }

  /** A sequence of its own, whatever was drawn from this one before. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`)
  }

  /** 0 ≤ x < 1. sfc32 (Chris Doty-Humphrey, PractRand). */
  next(): number {
    let [a, b, c, d] = this.#state
    const t = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    this.#state = [a, b, c, d]
    return (t >>> 0) / 4_294_967_296
  }

  /** Whole number, both ends included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  /** @throws when there is nothing to choose from. */
  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)]
    if (item === undefined) throw new RangeError('nothing to pick from')
    return item
  }

  /** One of the names, each as often as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let at = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      at -= weight
      if (at < 0) return name
    }
    return this.pick(entries)[0]
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items]
    const order: T[] = []
    while (left.length > 0) order.push(...left.splice(Math.floor(this.next() * left.length), 1))
    return order
  }
}
