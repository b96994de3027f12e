import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

// The migration tool refuses anything else, but only when a database is set up.
it.each(['source', 'projection'])(
  'the migrations of the %s are numbered 1, 2, 3 … without a hole',
  (which) => {
    const files = readdirSync(path.join(import.meta.dirname, '../../../database', which)).toSorted()
    const numbers = files.map((name) => Number(/^(\d{3})_[a-z0-9_]+\.sql$/.exec(name)?.[1]))
    expect(numbers, `${files.join(', ')}: take the next free number`).toEqual(
      files.map((_name, at) => at + 1),
    )
  },
)
