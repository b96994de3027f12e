import { createHash } from 'node:crypto'
import { basename, resolve } from 'node:path'

const ID_CHARS = 64
const HASH_CHARS = 12
const PREFIX_CHARS = 24

/** What `--prefix` takes: the beginning of a note id, short enough to leave room for the path. */
export const PREFIX_PATTERN = /^([A-Za-z0-9][A-Za-z0-9._-]{0,23})?$/

/** Lower case, every run of other characters one hyphen; no punctuation at either end. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')

/**
 * The note id of a document: `<prefix>-<end of the path>-<12 hex digits>`, at most 64 characters.
 * The digits are a hash of prefix and whole path, so that neither paths that look alike after slugging
 * nor two sources with different prefixes share an id (48 bits: for 10,000 documents one chance in 5
 * million). The same path always gives the same id; a renamed file is another note.
 * @param path relative to the source's folder, with `/`
 */
export function noteIdForPath(path: string, prefix: string): string {
  const hash = createHash('sha256').update(`${prefix}\0${path}`).digest('hex').slice(0, HASH_CHARS)
  const head = prefix === '' ? '' : `${prefix}-`
  const room = ID_CHARS - HASH_CHARS - 1 - head.length
  const slug = slugOf(slugOf(path.replace(/\.(md|markdown)$/i, '')).slice(-room))
  return slug === '' ? `${head}${hash}` : `${head}${slug}-${hash}`
}

/** The prefix when none is given: the folder's own name, so that two folders do not share notes. */
export function defaultPrefix(folder: string): string {
  const name = basename(resolve(folder)).replace(/\.git$/, '')
  return slugOf(slugOf(name).slice(0, PREFIX_CHARS))
}
