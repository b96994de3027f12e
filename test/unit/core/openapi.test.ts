import { describe, expect, test } from 'vitest'
import { readApiDocument } from '../../../services/read-api/openapi.ts'
import { document as writeApiDocument } from '../../../services/write-api/openapi.ts'

describe.each([
  ['write API', writeApiDocument()],
  ['read API', readApiDocument()],
])('the OpenAPI document of the %s', (_name, document) => {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))

  test('names every operation, once, and its answer to a wrong method', () => {
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids.every((id) => /^[a-z]\w+$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { responses } of operations) expect(responses['405'].headers).toHaveProperty('Allow')
  })

  test('has a server, and no bound that is only the largest number of JavaScript', () => {
    expect(document.servers).toEqual([{ url: '/' }])
    expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })
})
