import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Place } from '../../../core/position.ts'
import { type Committed, judgeCommitted } from '../../../services/projector/committed.ts'

const place: Place = { consumer: 'catalog', generation: 1, topic: 'notes.revisions', partition: 3 }
const judge = (nextOffset: number, kafka: number | null, known: Committed['known'], incarnation = 1) =>
  judgeCommitted(place, { nextOffset, incarnation }, { groupId: 'notes-catalog-1', kafka, known })
const knownAt = (nextOffset: number, incarnation = 1) => ({ nextOffset, incarnation })

test('a committed offset beyond what was applied was moved, and both offsets are named', () => {
  const verdict = judge(40, 90, knownAt(40))
  expect(verdict).toMatchObject({
    status: 'moved',
    message: expect.stringContaining('notes-catalog-1 is 90'),
  })
  expect(verdict).toMatchObject({ message: expect.stringContaining('below offset 40') })
  expect(judge(40, 90, null)).toMatchObject({ status: 'moved' })
})

test('a committed offset below one that Kafka had taken is set right without an alarm: a late commit does that too', () => {
  expect(judge(40, 10, knownAt(35))).toEqual({ status: 'behind' })
})

test('what a crash leaves, an expired offset and a position that an operator accepted are no alarm', () => {
  expect(judge(40, 35, knownAt(35))).toEqual({ status: 'behind' })
  expect(judge(40, 35, null)).toEqual({ status: 'behind' })
  expect(judge(40, null, knownAt(40))).toEqual({ status: 'behind' })
  expect(judge(0, null, null)).toEqual({ status: 'in-step' })
  expect(judge(3, 40, knownAt(40, 1), 2)).toEqual({ status: 'behind' })
})

test('commits that only follow progress never look moved, wherever a crash cuts', () => {
  const steps = fc.array(fc.constantFrom('apply', 'commit', 'remember', 'crash'), { maxLength: 40 })
  fc.assert(
    fc.property(steps, (sequence) => {
      let [progress, kafka, known] = [0, null as number | null, null as number | null]
      for (const step of sequence) {
        if (step === 'apply') progress += 1
        else if (step === 'commit') kafka = progress
        else if (step === 'remember') known = kafka
        else expect(judge(progress, kafka, known === null ? null : knownAt(known)).status).not.toBe('moved')
      }
    }),
  )
})
