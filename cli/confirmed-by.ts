import type { Publication } from './http/write-api.ts'

/** What "confirmed" rests on, for a person. */
export const CONFIRMED_BY: Readonly<Record<Publication['confirmed']['evidence'], string>> = {
  recorded: 'the watcher saw the slot pass the commit: the broker has it',
  record: 'a consumer saw its record: the broker has it',
  visible: 'readers see it, so the broker had it; no evidence from the relay so far',
  none: 'no evidence yet',
}
