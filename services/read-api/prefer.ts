import { READ_LIMITS } from './limits.ts'

/** One preference of RFC 7240: token, optional value (token or quoted string), parameters that are ignored. */
const WAIT = /^\s*wait\s*=\s*(?:"(\d{1,9})"|(\d{1,9}))\s*(?:;|$)/i
const IS_WAIT = /^\s*wait\s*(?:[=;]|$)/i

/** No useful Prefer is longer; splitting at commas outside quotes can take quadratic time. */
const HEADER_CHARS_MAX = 1_000

/** Members of the list; commas inside quoted strings do not separate. */
const members = (header: string): string[] => header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []

/**
 * Seconds a client is ready to wait (`Prefer: wait=S`), cut to the limit; undefined when it did not say or
 * said it in a form that RFC 7240 does not know: such preferences are ignored. The first `wait` counts.
 */
export function preferredWaitSeconds(header: string | undefined): number | undefined {
  if (header === undefined || header.length > HEADER_CHARS_MAX) return undefined
  const wait = members(header).find((member) => IS_WAIT.test(member))
  const match = wait === undefined ? null : WAIT.exec(wait)
  const seconds = match?.[1] ?? match?.[2]
  return seconds === undefined ? undefined : Math.min(Number(seconds), READ_LIMITS.waitSecondsMax)
}
