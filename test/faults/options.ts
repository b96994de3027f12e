import { InvalidArgumentError } from 'commander'

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/**
 * Pure: 90s, 3m or 1h as milliseconds. A bare number is refused: everybody reads another unit into it.
 * @throws InvalidArgumentError
 */
export function durationMs(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h)$/.exec(text) ?? []
  if (number === undefined) throw new InvalidArgumentError('It must have its unit: 90s, 3m or 1h.')
  return Number(number) * (UNITS_MS[unit] ?? 0)
}

/** Pure: the same as text, in the largest unit that holds it whole. */
export function durationText(ms: number): string {
  const [unit, size] =
    Object.entries(UNITS_MS)
      .toReversed()
      .find(([, size]) => ms > 0 && ms % size === 0) ?? (['s', 1_000] as const)
  return `${ms / size}${unit}`
}

/** @throws InvalidArgumentError */
export function count(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
