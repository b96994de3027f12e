import { describe, expect, test } from 'vitest'
import {
  PROBLEMS,
  Problem,
  type ProblemCode,
  ProblemDetails,
  problemBody,
  unavailable,
} from '../../../core/problem.ts'

describe('a problem', () => {
  test.each(Object.keys(PROBLEMS) as ProblemCode[])(
    '%s has type, title, status and code of RFC 9457',
    (code) => {
      const body = JSON.parse(problemBody(new Problem(code, 'What to do next.')))
      expect(ProblemDetails.parse(body)).toEqual({
        type: `urn:notes:problem:${code}`,
        title: PROBLEMS[code].title,
        status: PROBLEMS[code].status,
        code,
        detail: 'What to do next.',
      })
    },
  )

  test('adds its own members, and never its cause', () => {
    const problem = new Problem('revision-conflict', 'd', {
      extra: { currentRevision: 3 },
      cause: new Error('password=secret'),
    })
    expect(JSON.parse(problemBody(problem))).toMatchObject({ currentRevision: 3 })
    expect(problemBody(problem)).not.toContain('secret')
  })

  test('of a part that is away says when to try again', () => {
    expect(unavailable('The database is away.', new Error('ECONNREFUSED 10.0.0.1'))).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '1' },
    })
  })
})
