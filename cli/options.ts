import { InvalidArgumentError, Option } from 'commander'
import { VARIABLES } from '../core/config.ts'
import { NoteId, Revision } from '../core/note.ts'
import { PREFIX_PATTERN } from './documents/note-id.ts'

/** Parsers of option values; commander prints their messages and the command ends with the usage code. */

export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    return value
  }

/** A duration such as 30s, 10m, 12h, 7d; in seconds. */
export function duration(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text)
  const unit = { s: 1, m: 60, h: 3_600, d: 86_400 }[match?.[2] ?? '']
  const seconds = Number(match?.[1]) * (unit ?? Number.NaN)
  if (!(seconds > 0)) throw new InvalidArgumentError('It must be a duration such as 30s, 10m, 12h or 7d.')
  return seconds
}

/** `--name <duration>`; its default is given, and shown in the help, as one would write it. In seconds. */
export const durationOption = (flags: string, description: string, byDefault: string): Option =>
  new Option(flags, description).argParser(duration).default(duration(byDefault), byDefault)

export function httpAddress(text: string): string {
  if (!VARIABLES.WRITE_API_URL.safeParse(text).success) {
    throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:18080.')
  }
  return text
}

export const collect = (text: string, previous: readonly string[] = []): string[] => [...previous, text]

export function prefix(text: string): string {
  if (!PREFIX_PATTERN.test(text)) {
    throw new InvalidArgumentError(`It must match ${PREFIX_PATTERN.source} (empty: no prefix).`)
  }
  return text
}

export function noteId(text: string): string {
  const parsed = NoteId.safeParse(text)
  if (!parsed.success) throw new InvalidArgumentError(`A note id ${parsed.error.issues[0]?.message}.`)
  return parsed.data
}

/** The id of a rebuild, as the lists show it. */
export function rebuildId(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError('It must be the id that bin/notesctl rebuild list shows.')
  }
  return text
}

export type NoteReference = { readonly noteId: string; readonly revision: number | undefined }

/** `NOTE` or `NOTE:REVISION`. */
export function noteReference(text: string): NoteReference {
  const colon = text.indexOf(':')
  if (colon < 0) return { noteId: noteId(text), revision: undefined }
  const revision = Revision.safeParse(
    /^\d+$/.test(text.slice(colon + 1)) ? Number(text.slice(colon + 1)) : undefined,
  )
  if (!revision.success) throw new InvalidArgumentError('Name a revision as NOTE:7.')
  return { noteId: noteId(text.slice(0, colon)), revision: revision.data }
}

export type RevisionRange = {
  readonly noteId: string
  readonly firstRevision: number
  readonly lastRevision: number
}

/** `NOTE:3` or `NOTE:3-7`, also with the dash that lists of gaps print. */
export function revisionRange(text: string): RevisionRange {
  const [, note, first, last = first] = /^([^:]+):(\d{1,10})(?:[-–](\d{1,10}))?$/.exec(text) ?? []
  const revisions = [Revision.safeParse(Number(first)), Revision.safeParse(Number(last))]
  const [firstRevision, lastRevision] = revisions.map(({ data }) => data)
  if (!note || !firstRevision || !lastRevision || firstRevision > lastRevision)
    throw new InvalidArgumentError('Name revisions as NOTE:3, or as NOTE:3-7.')
  return { noteId: noteId(note), firstRevision, lastRevision }
}

export function partitionOffset(
  text: string,
  previous: ReadonlyMap<number, number> = new Map(),
): ReadonlyMap<number, number> {
  const match = /^(\d{1,6})=(\d{1,15})$/.exec(text)
  if (!match) throw new InvalidArgumentError('It must be PARTITION=OFFSET, such as 2=1500.')
  return new Map(previous).set(Number(match[1]), Number(match[2]))
}
