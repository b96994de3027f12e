import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, matchesGlob, resolve } from 'node:path'

export type WalkOptions = {
  /** Matched against the path relative to the folder; none: every .md and .markdown file. */
  readonly globs: readonly string[]
  /** Also names that start with a dot, and node_modules below the folder. `.git` never. */
  readonly includeHidden: boolean
}

export type FoundFile =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'symbolic-link'; readonly path: string }
  | { readonly kind: 'unreadable-folder'; readonly path: string; readonly explanation: string }

export const isMarkdown = (path: string): boolean => /\.(md|markdown)$/i.test(path)

/** Does the import want this path (relative, with `/`)? */
export const isWanted = (path: string, globs: readonly string[]): boolean =>
  globs.length === 0 ? isMarkdown(path) : globs.some((glob) => matchesGlob(path, glob))

/**
 * The wanted files below a folder, in a stable order. Symbolic links are named but never followed: they
 * can leave the folder or form a circle. A folder inside node_modules is taken whole, as there the
 * packages are the content.
 */
export async function* walk(folder: string, options: WalkOptions): AsyncGenerator<FoundFile> {
  const insideModules = resolve(folder).split('/').includes('node_modules')
  const isSkipped = (name: string) =>
    name === '.git' ||
    (!options.includeHidden && (name.startsWith('.') || (name === 'node_modules' && !insideModules)))

  async function* below(relative: string): AsyncGenerator<FoundFile> {
    let entries: Dirent[]
    try {
      entries = await readdir(join(folder, relative), { withFileTypes: true })
    } catch (error) {
      if (relative === '') throw error
      yield { kind: 'unreadable-folder', path: relative, explanation: (error as Error).message }
      return
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      if (isSkipped(entry.name)) continue
      const path = relative === '' ? entry.name : `${relative}/${entry.name}`
      if (entry.isDirectory()) yield* below(path)
      else if (entry.isSymbolicLink()) {
        if (isWanted(path, options.globs) || (await leadsToFolder(join(folder, path)))) {
          yield { kind: 'symbolic-link', path }
        }
      } else if (entry.isFile() && isWanted(path, options.globs)) yield { kind: 'file', path }
    }
  }
  yield* below('')
}

const leadsToFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (target) => target.isDirectory(),
    () => false,
  )
