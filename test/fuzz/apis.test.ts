import { beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { answersOf, operationsOf } from './answers.ts'
import { type FuzzedApi, fuzzedConsole, fuzzedReadApi, fuzzedWriteApi } from './apis.ts'
import { fuzz, installSchemathesis } from './schemathesis.ts'

/** `npm run fuzz` tries many more, and others each time: see run.sh. */
const CASES = Number(process.env.FUZZ_CASES ?? 25)
const SEED = Number(process.env.FUZZ_SEED ?? 637_287)
/** With fewer cases it is chance whether an operation meets something that is there. */
const ENOUGH_CASES = 25
/** Generous: a hanging run must end some time. A case takes a few milliseconds, waiting for a revision 1 s. */
const LIMIT_MS = 300_000 + CASES * 10_000

const lab = useLab()
let tool: string
beforeAll(async () => {
  tool = await installSchemathesis()
})

type Tried = {
  readonly name: string
  readonly start: typeof fuzzedWriteApi
  readonly config: string
  /** Operations whose 503 is documented and says nothing about the server. */
  readonly mayBe503: readonly string[]
  /** Operations that can find nothing here, since it takes a projector, a connector or a slot to make it. */
  readonly mayFindNothing: readonly string[]
}
const TRIED: readonly Tried[] = [
  { name: 'write API', start: fuzzedWriteApi, config: 'write-api.toml', mayBe503: [], mayFindNothing: [] },
  {
    name: 'public read API',
    start: fuzzedReadApi,
    config: 'read-api.toml',
    mayBe503: ['GET /notes/:noteId'],
    mayFindNothing: [],
  },
  {
    name: 'operator API',
    start: fuzzedConsole,
    config: 'console.toml',
    mayBe503: [],
    mayFindNothing: [
      'GET /actions/:actionId',
      'POST /positions/:consumer/accept',
      'POST /relay/topic/accept',
      'POST /relay/recovery',
      'GET /relay/recovery/:recoveryId',
      'POST /replays',
      'GET /replays/:replayId',
      'POST /replays/:replayId/cancel',
      'GET /intents/:noteId/:revision',
      'POST /intents/:noteId/:revision',
      'GET /rebuild-plan',
      'POST /rebuilds',
      'GET /rebuilds/:rebuildId',
      'POST /rebuilds/:rebuildId/switch',
      'POST /rebuilds/:rebuildId/rollback',
      'POST /rebuilds/:rebuildId/drop',
      'POST /retention/runs',
      'GET /retention/runs/:runId',
    ],
  },
]

describe.each(TRIED)('$name', ({ start, config, mayBe503, mayFindNothing }) => {
  test(
    'whatever is sent, the answer is documented and no failure of the server',
    async () => {
      await using api: FuzzedApi = await start(lab)
      const { url } = api.service
      const report = await fuzz(tool, { url, token: api.token, config, seed: SEED, cases: CASES })
      const { generated } = report.test_cases
      process.stdout.write(
        `fuzz ${config}: seed ${report.seed}, ${report.operations.tested} operations, ${generated} cases, ${report.failures.length} failures\n`,
      )
      expect(report.failures, report.text).toEqual([])
      expect(report.errors, report.text).toEqual([])
      expect(report.complete).toBe(true)

      // Not by the tool's word alone: what the process itself says about its answers.
      const answers = await answersOf(url)
      const operations = await operationsOf(url)
      expect(report.operations).toMatchObject({ total: operations.length, tested: operations.length })
      const mustSucceed = CASES < ENOUGH_CASES ? [] : operations
      const succeeded = answers
        .filter(({ status }) => status < 300)
        .map((answer) => `${answer.method} ${answer.route}`)
      expect(succeeded).toEqual(
        expect.arrayContaining(mustSucceed.filter((operation) => !mayFindNothing.includes(operation))),
      )
      const failed = answers.filter(
        ({ method, route, status }) =>
          status >= 500 && !(status === 503 && mayBe503.includes(`${method} ${route}`)),
      )
      expect(failed).toEqual([])
      expect(api.service.lines.filter((line) => line.includes('"msg":"request failed"'))).toEqual([])
    },
    LIMIT_MS,
  )
})
