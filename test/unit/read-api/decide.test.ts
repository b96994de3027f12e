import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CatalogNote } from '../../../services/read-api/catalog.ts'
import { decide } from '../../../services/read-api/decide.ts'

const note = fc.record<CatalogNote>({
  noteId: fc.constant('n'),
  revision: fc.integer({ min: 1, max: 9 }),
  title: fc.constant('t'),
  url: fc.constant(null),
  type: fc.constant('article'),
  body: fc.constant(''),
  visibility: fc.constantFrom('public', 'withdrawn'),
  contentDigest: fc.constant('00'),
  revisedAt: fc.constant(new Date(0)),
})
const quarantined = { reason: 'conflict', since: new Date(0), discarded: false }

test('a note is shown exactly when the catalog has it public at the wanted revision or newer', () => {
  fc.assert(
    fc.property(
      fc.option(note, { nil: undefined }),
      fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      fc.boolean(),
      (found, minRevision, isQuarantined) => {
        const decision = decide(
          { generation: 1, note: found, quarantined: isQuarantined ? quarantined : undefined },
          minRevision,
        )
        const satisfied = found !== undefined && found.revision >= (minRevision ?? 1)
        if (satisfied) {
          expect(decision.status).toBe(found.visibility === 'public' ? 'visible' : 'withdrawn')
        } else if (minRevision === undefined) expect(decision.status).toBe('unknown-note')
        else expect(decision.status).toBe(isQuarantined ? 'quarantined' : 'not-yet')
      },
    ),
  )
})
