import type { Lab } from '../../support/lab-interface.ts'

const RENEW_AFTER_MS = 240_000

/** Bearer tokens of the run's editors, signed anew before they expire. */
export class Tokens {
  readonly #lab: Lab
  readonly #kept = new Map<string, { readonly token: Promise<string>; readonly at: number }>()

  constructor(lab: Lab) {
    this.#lab = lab
  }

  of(subject: string): Promise<string> {
    const kept = this.#kept.get(subject)
    if (kept && performance.now() - kept.at < RENEW_AFTER_MS) return kept.token
    const token = this.#lab.token({ subject, roles: ['editor'] })
    this.#kept.set(subject, { token, at: performance.now() })
    return token
  }

  /** As the receipts name it. */
  principal(subject: string): string {
    return `${this.#lab.auth.issuer}|${subject}`
  }
}
