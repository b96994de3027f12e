import type { State } from './contract.ts'

/** What an operator may decide about one record in quarantine. */
export type Verb = 'redrive' | 'discard'

export type Decision =
  /** The record changes its state; `explanation` is for the operator. */
  | { readonly status: 'change'; readonly to: 'redriving' | 'discarded'; readonly explanation: string }
  /** Nothing changes; recorded all the same. */
  | { readonly status: 'no-effect'; readonly explanation: string }
  | { readonly status: 'refused'; readonly explanation: string }

const SETTLED = {
  applied: 'It has already taken effect',
  'no-effect': 'Its event has already taken effect',
  discarded: 'It was discarded before',
} as const

/** What a decision about a record in `state` does. */
export function decide(verb: Verb, state: State): Decision {
  switch (state) {
    case 'applied':
    case 'no-effect':
    case 'discarded':
      return { status: 'no-effect', explanation: `${SETTLED[state]}; nothing was changed.` }
    case 'redriving':
      return verb === 'redrive'
        ? { status: 'no-effect', explanation: 'Another attempt was asked for before and is still to come.' }
        : discarded
    case 'held':
      return verb === 'redrive'
        ? {
            status: 'refused',
            explanation:
              'It is held behind an earlier revision of its note and is tried by itself after that one was redriven or discarded. Decide about that one: heldBy names it.',
          }
        : discarded
    case 'open':
      return verb === 'redrive'
        ? {
            status: 'change',
            to: 'redriving',
            explanation:
              'The projector tries it again as soon as it can; GET /actions/{actionId} tells the result.',
          }
        : discarded
    default:
      return state satisfies never
  }
}

const discarded: Decision = {
  status: 'change',
  to: 'discarded',
  explanation: 'It is discarded: kept for ever, never applied.',
}

/** What is added when records were held behind it, and behind nothing else. @param count of them */
export function freedText(count: number): string {
  if (count === 0) return ''
  return count === 1
    ? ' 1 record that was held behind it is tried now.'
    : ` ${count} records that were held behind it are tried now.`
}
