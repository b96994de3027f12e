import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { startServiceProcess } from '../../support/service-process.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()

/** Writes a line for each module of the tracing SDK or the exporter that is loaded. */
const TELLS_LOADED = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      if (/@opentelemetry\\/(sdk-trace|exporter-|otlp-)/.test(url)) process.stdout.write('LOADED ' + url + '\\n')
      return next(url, context)
    },
  })
`)}`

async function save(url: string) {
  const response = await fetch(`${url}/notes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await lab.token({ subject: 'ada' })}`,
      'content-type': 'application/json',
      'idempotency-key': uniqueNoteId('key'),
    },
    body: JSON.stringify({ noteId: uniqueNoteId(), revision: 1, title: 'T', type: 'article', body: 'B' }),
  })
  await response.text()
  return response.status
}

const start = (env: Readonly<Record<string, string>>) =>
  startServiceProcess('services/write-api/main.ts', { ...lab.environment('write-api'), ...env }, [
    '--import',
    TELLS_LOADED,
  ])

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

it('without a collector configured nothing of the SDK is loaded', async () => {
  await using api = await start({})
  expect(await save(api.url)).toBe(202)
  expect(api.lines.filter((line) => line.startsWith('LOADED'))).toEqual([])
})

it('a collector that is away changes no answer, is said once, and does not keep the process from ending', async () => {
  await using api = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await closedPort()}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    OTEL_BSP_SCHEDULE_DELAY: '10',
  })
  expect(api.lines.some((line) => line.startsWith('LOADED'))).toBe(true)
  const warnings = () => api.lines.filter((line) => line.includes('the trace collector does not take spans'))
  expect(await save(api.url)).toBe(202)
  await waitFor('the warning', () => warnings().length > 0)
  for (let request = 0; request < 20; request++) expect(await save(api.url)).toBe(202)
  expect(await api.end()).toBe(0)
  expect(warnings()).toHaveLength(1)
})
