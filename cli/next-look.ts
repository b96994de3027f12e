import type { QuarantineEntry } from './http/quarantine.ts'

/** What is known about a revision that readers do not get in time. */
export type Missing = {
  readonly note: string
  /** Does the broker have it, by evidence or because a consumer has seen the record? */
  readonly inKafka: boolean
  /** undefined: the catalog was not asked. */
  readonly inCatalog: boolean | undefined
  /** What the read API says: it does not have it yet, shows other content, or gave no usable answer. */
  readonly readers: 'not-yet' | 'conflict' | 'unknown'
  /** The record that the catalog could not, or may not, apply; undefined: there is none as far as is known. */
  readonly quarantined?: Pick<QuarantineEntry, 'id' | 'state' | 'reason' | 'explanation'> | undefined
  /** undefined: the address is not configured. */
  readonly projectorUrl: string | undefined
  readonly readApiUrl: string | undefined
}

/**
 * The first part on the way that has not done its step, and a command that says why. Pure.
 * @returns a sentence for a person, and a line "Next: " with the command
 */
export function nextLook({ note, inKafka, inCatalog, readers, quarantined, ...urls }: Missing): string {
  if (readers === 'conflict') {
    return `Readers get other content under this revision: the catalog does not come from this source.\nNext: bin/notesctl show ${note}`
  }
  if (quarantined && !inCatalog) {
    const { id, state, reason, explanation } = quarantined
    return `Its record is in quarantine (record ${id}, ${state}, ${reason}): ${explanation}\nNext: bin/notesctl quarantine list --note ${note} --state any`
  }
  if (!inKafka && !inCatalog) {
    return 'The relay has not brought it to Kafka, as far as is known.\nNext: bin/notesctl relay status'
  }
  if (readers === 'unknown') {
    return `The read API gives no usable answer.\nNext: ${readyz(urls.readApiUrl, 'READ_API_URL')}`
  }
  return inCatalog
    ? `The catalog has it, but the read API does not show it.\nNext: ${readyz(urls.readApiUrl, 'READ_API_URL')}`
    : `Kafka has it, but the projector has not applied it.\nNext: ${readyz(urls.projectorUrl, 'PROJECTOR_URL')}`
}

const readyz = (url: string | undefined, variable: string) => `curl ${url ?? `$${variable}`}/readyz`
