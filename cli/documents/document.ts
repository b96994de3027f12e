import { LIMITS, NOTE_TYPE_PATTERN, NoteContent, Visibility } from '../../core/note.ts'
import { readFrontMatter } from './front-matter.ts'
import { firstHeading, plainText, titleFromPath } from './title.ts'

/** Why a file cannot become a note. Stable codes, shown to people and in JSON. */
export type UnusableReason =
  | 'unreadable-file'
  | 'too-large'
  | 'not-utf8'
  | 'contains-nul'
  | 'unreadable-front-matter'
  | 'unknown-visibility'
  | 'invalid-content'

export type Unusable = {
  readonly status: 'unusable'
  readonly reason: UnusableReason
  readonly explanation: string
}

export type DocumentReading =
  | {
      readonly status: 'usable'
      readonly content: NoteContent
      /** `noteId` or `id` of the front matter, unchecked; only `publish` uses it. */
      readonly declaredNoteId: string | undefined
      /** Metadata that was not usable and was left out. */
      readonly warnings: readonly string[]
    }
  | Unusable

export const DEFAULT_TYPE = 'article'

const NO_FRONT_MATTER: { fields: Readonly<Record<string, unknown>>; endsAt: number } = {
  fields: {},
  endsAt: 0,
}

export const unusable = (reason: UnusableReason, explanation: string): Unusable => ({
  status: 'unusable',
  reason,
  explanation,
})

export const tooLarge = (bytes: number): Unusable =>
  unusable('too-large', `It has ${bytes} bytes; a note's body has at most ${LIMITS.bodyBytes}.`)

/**
 * A Markdown file as note content. The body is the whole file, front matter included, unchanged: the read
 * API gives back the very bytes. Front matter only feeds the metadata: title, url, type, visibility; the
 * title is else the first heading, else the file's name. Where visibility cannot be known the file is not
 * usable: published as public, a text that was meant to be withdrawn could not be taken back.
 */
export function readDocument(bytes: Uint8Array, path: string): DocumentReading {
  if (bytes.length > LIMITS.bodyBytes) return tooLarge(bytes.length)
  let body: string
  try {
    // ignoreBOM keeps a byte order mark in the text, as the bytes are to come back unchanged.
    body = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return unusable('not-utf8', 'It is not UTF-8 text. Convert it, for example: iconv -f LATIN1 -t UTF-8.')
  }
  if (body.includes('\0'))
    return unusable('contains-nul', 'It contains U+0000, which PostgreSQL cannot store.')

  const frontMatter = readFrontMatter(body)
  if (frontMatter.status === 'unreadable') {
    return unusable(
      'unreadable-front-matter',
      `Its front matter cannot be read: ${frontMatter.explanation}. Correct the YAML, or put an empty line before the first ---.`,
    )
  }
  const { fields, endsAt } = frontMatter.status === 'present' ? frontMatter : NO_FRONT_MATTER
  const visibility = readVisibility(fields)
  if (visibility === undefined) {
    return unusable(
      'unknown-visibility',
      'The front matter must say visibility: public or visibility: withdrawn, in lower case, or leave it out.',
    )
  }
  const { metadata, problems } = readMetadata(fields)
  const content = NoteContent.safeParse({
    title: metadata.title ?? firstHeading(body.slice(endsAt)) ?? titleFromPath(path),
    url: metadata.url ?? null,
    type: metadata.type ?? DEFAULT_TYPE,
    body,
    visibility,
  })
  if (!content.success) {
    const issue = content.error.issues[0]
    return unusable('invalid-content', `${issue?.path.join('.')}: ${issue?.message}.`)
  }
  const declared = fields.noteId ?? fields.id
  return {
    status: 'usable',
    content: content.data,
    declaredNoteId: declared === undefined || declared === null ? undefined : String(declared),
    warnings: problems,
  }
}

/** Undefined when it is said but not understood, also as `Visibility:` or without a value. */
function readVisibility(fields: Readonly<Record<string, unknown>>): Visibility | undefined {
  const name = Object.keys(fields).find((key) => key.trim().toLowerCase() === 'visibility')
  if (name === undefined) return 'public'
  return name === 'visibility' ? Visibility.safeParse(fields.visibility).data : undefined
}

/** The usable metadata; what is there but breaks a rule is named and left out. */
function readMetadata(fields: Readonly<Record<string, unknown>>) {
  const problems: string[] = []
  const take = (name: string, read: (value: unknown) => string | undefined, rule: string) => {
    const value = fields[name]
    if (value === undefined || value === null) return undefined
    const usable = read(value)
    if (usable === undefined) problems.push(`front matter ${name} ignored: ${rule}`)
    return usable
  }
  const metadata = {
    title: take(
      'title',
      (value) =>
        typeof value === 'string' || typeof value === 'number'
          ? plainText(String(value)) || undefined
          : undefined,
      'it must be text',
    ),
    url: take(
      'url',
      (value) => {
        const url = NoteContent.shape.url.safeParse(value)
        return url.success && url.data !== null ? url.data : undefined
      },
      'it must be an absolute http or https URL',
    ),
    type: take(
      'type',
      (value) => (typeof value === 'string' && NOTE_TYPE_PATTERN.test(value) ? value : undefined),
      `it must match ${NOTE_TYPE_PATTERN.source}`,
    ),
  }
  return { metadata, problems }
}
