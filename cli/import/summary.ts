import { type Output, printable } from '../output.ts'

/** Why something of the source did not become a revision. `reason`: stable codes. */
export type Failure = {
  readonly path: string
  /** Only for a history: the commit whose version of the file this is. */
  readonly commit?: string
  readonly noteId?: string
  readonly reason: string
  readonly explanation: string
}

export type NoteAt = { readonly noteId: string; readonly revision: number; readonly path: string }

/** What an import did; printed by `--json` as it is (documented in cli/commands/import.ts). */
export type ImportSummary = {
  readonly source: string
  readonly kind: 'folder' | 'git'
  readonly prefix: string
  /** Files of the folder, or versions of files in the history. */
  readonly found: number
  /** Distinct notes. */
  readonly notes: number
  /** Revisions this run added. */
  readonly published: number
  /** Of `published`: notes that did not exist before. */
  readonly created: number
  /** Was there already, from an earlier run. */
  readonly unchanged: number
  readonly failed: number
  readonly symbolicLinksSkipped: number
  /** The first 1,000 of `failed`. */
  readonly failures: readonly Failure[]
  /** The first 1,000 pieces of metadata that were left out. */
  readonly warnings: readonly { readonly path: string; readonly warning: string }[]
  readonly lastNote: NoteAt | null
  readonly elapsedMs: number
  /** Present with --wait-visible. */
  readonly visibility?: VisibilitySummary
}

export type VisibilitySummary = {
  readonly visible: number
  readonly notVisible: number
  /** The first 1,000 of `notVisible`. */
  readonly missing: readonly (NoteAt & { readonly explanation: string })[]
  readonly waitedMs: number
}

const LISTED = 1_000

/** Counts what an import does; keeps a bounded list of what went wrong. */
export class Tally {
  readonly #startedAt = performance.now()
  readonly #failures: Failure[] = []
  readonly #warnings: { path: string; warning: string }[] = []
  found = 0
  notes = 0
  published = 0
  created = 0
  unchanged = 0
  failed = 0
  symbolicLinksSkipped = 0
  lastNote: NoteAt | null = null

  fail(failure: Failure): void {
    this.failed += 1
    if (this.#failures.length < LISTED) this.#failures.push(failure)
  }

  warn(path: string, warnings: readonly string[]): void {
    for (const warning of warnings) {
      if (this.#warnings.length < LISTED) this.#warnings.push({ path, warning })
    }
  }

  summary(source: string, kind: 'folder' | 'git', prefix: string): ImportSummary {
    return {
      source,
      kind,
      prefix,
      found: this.found,
      notes: this.notes,
      published: this.published,
      created: this.created,
      unchanged: this.unchanged,
      failed: this.failed,
      symbolicLinksSkipped: this.symbolicLinksSkipped,
      failures: this.#failures,
      warnings: this.#warnings,
      lastNote: this.lastNote,
      elapsedMs: Math.round(performance.now() - this.#startedAt),
    }
  }
}

/** For people: what failed first, the totals last, where the eye is. */
export function printSummary(output: Output, summary: ImportSummary): void {
  output.result(summary, () => {
    const versions = summary.kind === 'git' ? 'versions of files' : 'files'
    const lines = summary.failures.map((failure) => {
      const commit = failure.commit ? ` at ${failure.commit.slice(0, 12)}` : ''
      return `not imported: ${printable(failure.path)}${commit}: ${printable(failure.explanation)}`
    })
    if (summary.failed > summary.failures.length) {
      lines.push(`… and ${summary.failed - summary.failures.length} more`)
    }
    for (const { path, warning } of summary.warnings) lines.push(`${printable(path)}: ${printable(warning)}`)
    if (summary.symbolicLinksSkipped > 0) {
      lines.push(`${summary.symbolicLinksSkipped} symbolic links were not followed.`)
    }
    if (summary.visibility) {
      const { visible, notVisible, waitedMs, missing } = summary.visibility
      for (const note of missing)
        lines.push(`not visible: ${note.noteId}:${note.revision}: ${note.explanation}`)
      lines.push(
        `${visible} of ${visible + notVisible} visible at the read API, ${(waitedMs / 1000).toFixed(1)} s after the last was saved.`,
      )
    }
    lines.push(
      `${summary.found} ${versions} of ${summary.notes} notes: ${summary.published} revisions published (${summary.created} new notes), ${summary.unchanged} unchanged, ${summary.failed} not imported, in ${(summary.elapsedMs / 1000).toFixed(1)} s.`,
    )
    return lines
  })
}
