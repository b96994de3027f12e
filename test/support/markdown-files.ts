import { readFileSync } from 'node:fs'
import path from 'node:path'
import { walk } from '../../cli/documents/walk.ts'
import { REPOSITORY } from '../../lab/paths.ts'

export type MarkdownFile = { readonly path: string; readonly bytes: Buffer }

const NODE_MODULES = path.join(REPOSITORY, 'node_modules')

/** Text written by other people: the Markdown of the installed npm packages, in a stable order. */
export async function installedMarkdown(): Promise<readonly MarkdownFile[]> {
  const files: MarkdownFile[] = []
  for await (const found of walk(NODE_MODULES, { globs: [], includeHidden: false })) {
    if (found.kind === 'file') {
      files.push({ path: found.path, bytes: readFileSync(path.join(NODE_MODULES, found.path)) })
    }
  }
  return files
}
