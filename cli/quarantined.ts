import type { CliContext } from './context.ts'
import { CliFailure } from './failure.ts'
import { listQuarantine, type QuarantineEntry } from './http/quarantine.ts'

/** Records of a note that are looked through. */
const LIMIT = 1_000
const KEEPS_BACK = ['open', 'redriving', 'held', 'discarded']

/**
 * The catalog's record of this revision that quarantine keeps from readers, when an operator may be asked for.
 * Only for a hint: without the operator API, or without its role, nothing is known.
 */
export async function findQuarantined(
  context: CliContext,
  noteId: string,
  revision: number,
): Promise<QuarantineEntry | undefined> {
  if (!context.settings.has('CONSOLE_URL')) return undefined
  try {
    const filters = { consumer: 'catalog', note: noteId, state: 'any' }
    for await (const entry of listQuarantine(context.consoleApi(), filters, LIMIT)) {
      if (entry.revision === revision && KEEPS_BACK.includes(entry.state)) return entry
    }
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error
  }
  return undefined
}
