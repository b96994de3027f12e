import { setTimeout as sleep } from 'node:timers/promises'

/** Stretches every waiting limit on a slow machine. */
export const waitScale = Number(process.env.WAIT_SCALE ?? 1)

export type WaitOptions = {
  /** Generous: only a broken product reaches it. Default 30 s. */
  readonly limitMs?: number
  readonly everyMs?: number
}

/**
 * Polls `probe` until it returns something other than undefined, null or false, and returns that. A throw
 * counts as "not yet".
 * @throws with `what` and the last outcome when the limit passes.
 */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T> | T,
  { limitMs = 30_000, everyMs = 50 }: WaitOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const endAt = performance.now() + limitMs * waitScale
  let last: unknown
  for (;;) {
    try {
      last = await probe()
      if (last !== undefined && last !== null && last !== false) return last as NonNullable<Exclude<T, false>>
    } catch (error) {
      last = error
    }
    if (performance.now() > endAt) {
      throw new Error(`waited ${limitMs * waitScale} ms in vain for: ${what}`, { cause: last })
    }
    await sleep(everyMs)
  }
}
