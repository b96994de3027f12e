import type { Command } from '../../faults/history.ts'
import { type Wish, World } from './world.ts'

let edits = 0
export const wish = (noteId: string, revision: number, more: Partial<Wish> = {}): Wish => {
  edits += 1
  return {
    principal: 'https://notes.localhost|ada',
    key: `key-${noteId}-${revision}`,
    editId: `edit-${edits}`,
    noteId,
    revision,
    visibility: 'public',
    ...more,
  }
}

/** A short run in which everything that is allowed happens once. Note b is withdrawn, note a ends at 3. */
export function story() {
  const world = new World()
  world.read('a')
  const a1 = wish('a', 1)
  const first = world.submit(a1)
  world.event(eventOf(first))
  world.submit({ ...wish('a', 2), key: a1.key }) // the key is taken: 422
  world.beat()
  world.relay(1)
  world.consume('catalog', 1)
  world.read('a')
  world.read('a', { ifNoneMatch: true })
  world.read('a', { minRevision: 2 })

  const a2 = wish('a', 2)
  world.submit(a2, 'cut')
  world.submit(a2)
  const ben = { principal: 'https://notes.localhost|ben', key: 'key-ben' }
  world.submit(wish('a', 2, ben)) // conflict: 409 with the current revision
  world.submit(wish('a', 5, { key: 'key-far' })) // conflict the other way: the note is not there yet
  world.publication('a', 2)
  world.submit(wish('a', 3), 'unavailable')
  world.canonical('a')
  world.submit(wish('b', 1))
  world.submit(wish('b', 2, { visibility: 'withdrawn' }))
  world.relay(2)
  world.consume('catalog', 2)
  world.publication('a', 2)
  world.publication('a', 1)
  world.relay(10, 2)
  world.replay(world.committed[0] ?? missing())
  world.consume('catalog', 3)
  world.read('b')
  world.consume('catalog', 10)
  world.consume('audit', 10)
  world.beat()
  world.read('a')
  world.read('b')
  world.list()
  world.publication('b', 2)
  world.publication('a', 3)
  for (const { eventId } of world.committed) world.event(eventId)
  return world.end()
}
export type Story = ReturnType<typeof story>

export function eventOf({ answer }: Command): string {
  return answer.outcome === 'accepted' ? answer.eventId : missing()
}

export const missing = (): never => {
  throw new Error('the story has no such thing')
}
