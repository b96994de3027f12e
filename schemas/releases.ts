import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Release, SchemaProblem } from './compatibility.ts'

const FILE = /^note-revision\.v(\d+)\.avsc$/
export const SUMS_FILE = 'SHA256SUMS'

export type Releases = { readonly releases: readonly Release[]; readonly problems: readonly SchemaProblem[] }

/**
 * The released versions in `folder`, oldest first, and what is wrong with the folder itself: versions are
 * numbered 1, 2, 3… and a released file never changes, which SHA256SUMS holds (written at the release).
 */
export function readReleases(folder: string): Releases {
  const files = readdirSync(folder).filter((file) => file !== SUMS_FILE)
  const numbered = files
    .flatMap((file) => {
      const version = FILE.exec(file)?.[1]
      return version ? [{ file, version: Number(version) }] : []
    })
    .sort((a, b) => a.version - b.version)
  const sums = new Map(
    readFileSync(path.join(folder, SUMS_FILE), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(/ +/, 2))
      .map(([sum, file]) => [file, sum]),
  )
  const releases = numbered.map(({ file }) => ({
    file,
    schema: readFileSync(path.join(folder, file), 'utf8'),
  }))
  return {
    releases,
    problems: [
      ...files.filter((file) => !FILE.test(file)).map((file) => `${file} is not named like a release.`),
      ...gapIn(numbered.map(({ version }) => version)),
      ...releases
        .filter(({ file, schema }) => sums.get(file) !== sha256(schema))
        .map(
          ({ file }) =>
            `${file} is not what was released (${SUMS_FILE}): records were written with the original. Restore it with git.`,
        ),
      ...[...sums.keys()]
        .filter((file) => file !== undefined && !files.includes(file))
        .map(
          (file) => `${file} was released and is gone: records written with it remain. Restore it with git.`,
        ),
    ],
  }
}

function gapIn(versions: readonly number[]): SchemaProblem[] {
  const missing = versions.findIndex((version, index) => version !== index + 1) + 1
  return missing === 0 ? [] : [`Version ${missing} is missing between the releases, or there twice.`]
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
