import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventIdOfIntent } from '../../../core/event-id.ts'

it('is a UUID of version 5, the same for the same revision and content, another for any other', () => {
  const one = fc.tuple(fc.string(), fc.integer({ min: 1 }), fc.string())
  fc.assert(
    fc.property(one, one, (a, b) => {
      const id = eventIdOfIntent(...a)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(eventIdOfIntent(...a)).toBe(id)
      if (a.join(':') !== b.join(':')) expect(eventIdOfIntent(...b)).not.toBe(id)
    }),
  )
})
