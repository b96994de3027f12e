import { expect, test } from 'vitest'
import { LabReport } from '../../../lab/control-server.ts'
import { isStarted, isUp } from '../../../lab/report-text.ts'

const part = (name: string, state: string, live: boolean) => ({
  ...{ name, state, live },
  restarts: 0,
  logFile: `${name}.log`,
})
const report = (...processes: ReturnType<typeof part>[]) =>
  LabReport.parse({ phase: 'ready', setup: { state: 'done', changed: [], warnings: [] }, processes })

test('a service that answers is started, though it waits for a person; one that does not answer is not', () => {
  const server = part('kafka', 'ready', true)
  const waiting = report(server, part('watcher', 'starting', true))
  expect(isStarted(waiting)).toBe(true)
  expect(isUp(waiting)).toBe(false)
  expect(isStarted(report(server, part('watcher', 'starting', false)))).toBe(false)
})

test('a server that is not ready is not started, and nothing is before setup is done', () => {
  const service = part('watcher', 'ready', true)
  expect(isStarted(report(part('kafka', 'starting', true), service))).toBe(false)
  const settingUp = report(part('kafka', 'ready', true), service)
  expect(isStarted({ ...settingUp, setup: { ...settingUp.setup, state: 'running' } })).toBe(false)
})
