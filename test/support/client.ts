import { randomUUID } from 'node:crypto'
import type { Lab } from './lab.ts'

export type Command = {
  noteId: string
  revision: number
  title?: string
  url?: string | null
  type?: string
  body?: string
  visibility?: 'public' | 'withdrawn'
}

/** A JSON answer. What it must hold is the test's to check, so its members are not typed here. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Answer = any
export const jsonOf = (response: Response): Promise<Answer> => response.json()

export type SaveOptions = { key?: string; token?: string; headers?: Record<string, string> }

/** Speaks to the lab's APIs as an editor and as a reader would: over HTTP, nothing else. */
export function clientOf(lab: Lab) {
  let editorToken: Promise<string> | undefined
  const token = () => {
    editorToken ??= lab.token({ subject: 'ada', roles: ['editor'] })
    return editorToken
  }
  const authorized = async (path: string) =>
    fetch(`${lab.addresses.writeApiUrl}${path}`, { headers: { authorization: `Bearer ${await token()}` } })

  return {
    /** POST /notes, with a title, type and body when the command has none. */
    save: async (command: Command, { key = randomUUID(), token: other, headers }: SaveOptions = {}) =>
      fetch(`${lab.addresses.writeApiUrl}/notes`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${other ?? (await token())}`,
          'content-type': 'application/json',
          'idempotency-key': key,
          ...headers,
        },
        body: JSON.stringify({ title: 'A title', type: 'article', body: 'A body', ...command }),
      }),
    /** GET of the write API with an editor's token. */
    authorized,
    event: async (eventId: string) => jsonOf(await authorized(`/events/${eventId}`)),
    publication: async (noteId: string, revision: number) =>
      jsonOf(await authorized(`/publications/${noteId}/${revision}`)),
    /** GET of the public read API. */
    read: (path: string, headers: Record<string, string> = {}) =>
      fetch(`${lab.addresses.readApiUrl}${path}`, { headers }),
  }
}
