/** Exit codes of notesctl; printed by `notesctl --help`. */
export const EXIT_CODES = {
  done: [0, 'done'],
  failed: [1, 'failed, or done only in part: the output names what was not done'],
  usage: [2, 'the command line or the configuration cannot be used; nothing was done'],
  'not-found': [3, 'the note or revision does not exist'],
  conflict: [4, 'the note is at another revision than the command assumes'],
  unavailable: [5, 'a server did not answer; what was done so far stays, repeat the command to go on'],
  'not-permitted': [6, 'the token is missing, not valid, or lacks the role'],
  'not-yet': [7, 'saved, but the awaited state was not reached in time'],
  differences: [
    8,
    'something was found: source and projection differ, or something is not in order; the output lists it',
  ],
} as const satisfies Record<string, readonly [number, string]>
export type ExitReason = keyof typeof EXIT_CODES

/** An expected end of a command: what happened, what it means, what to do next, for a person. */
export class CliFailure extends Error {
  override name = 'CliFailure'
  readonly reason: ExitReason

  constructor(reason: ExitReason, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.reason = reason
  }

  get exitCode(): number {
    return EXIT_CODES[this.reason][0]
  }
}
