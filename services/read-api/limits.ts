import { LIST_CURSOR_CHARS } from '../../core/list-position.ts'

/** Limits of the public read API. docs/limits.md states the same numbers; a test compares them. */
export const READ_LIMITS = {
  pageSizeDefault: 20,
  pageSizeMax: 100,
  cursorChars: LIST_CURSOR_CHARS,
  /** `Prefer: wait=S` is cut to this; below common proxies' 30 s. */
  waitSecondsMax: 20,
  /** Requests waiting for a revision at one moment, per process. */
  waitersMax: 256,
  /** All waiters share one query; this is the pause between two of them. */
  pollIntervalMs: 20,
  /** Lets a shared cache absorb a burst; adds at most this to what a reader sees late. */
  cacheMaxAgeSeconds: 1,
  /** How old the answer "as of when" may be. Older is still true. */
  freshnessCacheMs: 250,
  /** Watermarks looked at in one query, more in the ones after it; what is left then, in the next reading. */
  watermarksPerRead: 64,
  watermarkPages: 8,
  /** A read that takes longer is given up: 503. */
  statementTimeoutMs: 3_000,
} as const

/** Retry-After in seconds, by why the answer is 503. */
export const RETRY_AFTER_SECONDS = {
  notYetVisible: 1,
  tooManyWaiters: 2,
  databaseAway: 2,
  stopping: 1,
  /** A person has to look at the record first. */
  quarantined: 60,
} as const
