import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonAnswer, openApiDocument, problemAnswers } from '../../../core/openapi.ts'
import { Problem, problemBody } from '../../../core/problem.ts'
import { documentedBy } from '../../support/openapi.ts'

const document = openApiDocument(
  { title: 't', version: '1' },
  {
    '/things/{id}': {
      get: {
        responses: {
          '200': jsonAnswer(
            'A thing.',
            z.object({ id: z.uuid(), count: z.int() }),
            z.object({ ETag: z.string().regex(/^"/), Location: z.string().optional() }),
          ),
          '304': { description: 'Unchanged.' },
          ...problemAnswers('not-found'),
        },
      },
    },
  },
  true,
)
const check = documentedBy(JSON.parse(JSON.stringify(document)))
const good = {
  method: 'GET',
  path: '/things/1?q=2',
  status: 200,
  headers: { 'content-type': 'application/json; charset=utf-8', etag: '"1"' } as Record<string, string>,
  text: '{"id":"9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d","count":1}',
}
const checked = (change: Partial<typeof good>) => () => {
  const answer = { ...good, ...change }
  check({ ...answer, headers: new Headers(answer.headers) })
}

describe('an answer is held against the served document', () => {
  test('as documented it passes, problems and empty answers too', () => {
    expect(checked({})).not.toThrow()
    expect(checked({ method: 'HEAD', text: '' })).not.toThrow()
    expect(checked({ status: 304, text: '', headers: {} })).not.toThrow()
    const problem = problemBody(new Problem('not-found', 'd'))
    const headers = { 'content-type': 'application/problem+json' }
    expect(checked({ status: 404, headers, text: problem })).not.toThrow()
  })

  test.each([
    ['another path', { path: '/others/1' }, /no such path/],
    ['another method', { method: 'POST' }, /not documented/],
    ['another status', { status: 201 }, /not documented/],
    ['a missing member', { text: '{"id":"9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"}' }, /count/],
    ['a wrong type', { text: good.text.replace('1}', '"1"}') }, /integer/],
    ['a wrong format', { text: '{"id":"x","count":1}' }, /uuid|pattern/],
    ['an undocumented member', { text: good.text.replace('{', '{"more":1,') }, /additional/],
    ['a missing header', { headers: { 'content-type': 'application/json' } }, /etag.*missing/i],
    ['a wrong header', { headers: { ...good.headers, etag: 'W/"1"' } }, /header ETag/],
    ['another content type', { headers: { ...good.headers, 'content-type': 'text/html' } }, /content type/],
    ['a body where none is documented', { status: 304, text: '{}' }, /none is documented/],
    [
      'a problem without code',
      { status: 404, headers: { 'content-type': 'application/problem+json' }, text: '{"status":404}' },
      /code/,
    ],
  ])('%s is named', (_what, change, message) => {
    expect(checked(change as Partial<typeof good>)).toThrow(message)
  })
})
