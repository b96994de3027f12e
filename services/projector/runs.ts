/** A run of revisions of one note, first and last included. */
export type Run = { readonly first: number; readonly last: number }

export const isIn = ({ first, last }: Run, revision: number): boolean => first <= revision && revision <= last

/** What of a run is still missing once one of its revisions has come. */
export function splitRun<R extends Run>(run: R, revision: number): R[] {
  if (!isIn(run, revision)) return [run]
  return [
    { ...run, last: revision - 1 },
    { ...run, first: revision + 1 },
  ].filter(({ first, last }) => first <= last)
}

/** `a:5`, or `a:5–9` for more than one. */
export const nameOfRun = (noteId: string, { first, last }: Run): string =>
  first === last ? `${noteId}:${first}` : `${noteId}:${first}–${last}`
