import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import type { ServiceProcess } from '../../support/service-process.ts'
import { type ApiName, operationsOf, startApi } from './apis.ts'

const lab = useLab()
/** Every password there is, of both databases. */
const passwords = [
  lab.databases.sourceAdmin,
  lab.databases.projectionAdmin,
  ...Object.values(lab.databases.source),
  ...Object.values(lab.databases.projection),
].map((url) => decodeURIComponent(new URL(url).password))
const KEY = `secret-key-${randomUUID()}`
/** Nothing that lies with the port refused: what a driver says about it names host, user and database. */
const NOWHERE = 'postgres://someone:hunter2hunter2@127.0.0.1:1/nowhere'

function expectNoSecrets(text: string, token: string): void {
  for (const secret of [...passwords, token, 'hunter2hunter2', 'eyJ']) {
    expect(text.includes(secret), `a secret is in: ${text.slice(0, 500)}`).toBe(false)
  }
}

describe.each<[ApiName, Record<string, string>]>([
  ['write-api', {}],
  ['read-api', {}],
  ['console', {}],
  ['read-api', { PROJECTION_DATABASE_URL: NOWHERE }],
  ['console', { SOURCE_DATABASE_URL: NOWHERE, PROJECTION_DATABASE_URL: NOWHERE }],
])('%s with %o, at the most talkative log level', (name, env) => {
  let api: ServiceProcess
  let token: string
  beforeAll(async () => {
    api = await startApi(lab, name, { ...env, LOG_LEVEL: 'trace' })
    token = await lab.token({ subject: 'secrets', roles: ['editor', 'operator'] })
  })
  afterAll(() => api.end())

  test('no password and no token is in any answer, in the metrics, or in the log', async () => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': KEY,
    }
    const targets = [
      ...(await operationsOf(api.url)),
      ...['/livez', '/readyz', '/metrics', '/openapi.json', '/nothing', '/%'].map((target) => ({
        method: 'GET',
        path: target,
      })),
    ]
    for (const { method, path: target } of targets) {
      for (const body of method === 'POST' ? ['{}', 'rubbish', command()] : [undefined]) {
        const response = await fetch(api.url + target, { method, headers, ...(body && { body }) })
        const answered = `${JSON.stringify([...response.headers])} ${await response.text()}`
        expectNoSecrets(answered, token)
        if (response.status >= 500) expect(answered).not.toMatch(/127\.0\.0\.1|someone|nowhere|ECONN|\.ts:\d/)
      }
    }
    expectNoSecrets(api.lines.join('\n'), token)
    for (const line of api.lines) expect(() => JSON.parse(line)).not.toThrow()
  })
})

const command = () =>
  JSON.stringify({ noteId: uniqueNoteId(), revision: 1, title: 't', type: 'article', body: 'b' })

test('Connect shows placeholders in place of the connector’s password', async () => {
  const { connectUrl } = lab.addresses
  for (const target of [
    '/connectors?expand=info&expand=status',
    '/connectors/notes-outbox/config',
    '/connectors/notes-outbox/tasks',
  ]) {
    const text = await (await fetch(connectUrl + target)).text()
    expect(text).toContain('notes')
    expectNoSecrets(text, 'eyJ')
  }
  const config = await (await fetch(`${connectUrl}/connectors/notes-outbox/config`)).json()
  expect(config).toMatchObject({ 'database.password': expect.stringMatching(/^\$\{[^}]+\}$/) })
})

test('only their owner can read the files of the lab that hold secrets', () => {
  const files = [
    ...['lab.json', 'client.env'].map((name) => path.join(lab.dir, name)),
    ...['secrets', 'keys'].flatMap((folder) =>
      readdirSync(path.join(lab.dir, folder)).map((name) => path.join(lab.dir, folder, name)),
    ),
  ]
  const open = files.filter((file) => (statSync(file).mode & 0o077) !== 0)
  expect(open).toEqual([])
  expect(files.length).toBeGreaterThan(4)
})
