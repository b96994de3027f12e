import { afterAll, beforeAll, expect, test } from 'vitest'
import { outboxConnector } from '../../connectors/definition.ts'
import { ConnectClient } from '../../core/connect-client.ts'
import { clientOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl } from '../support/notesctl.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
let api: ServiceProcess

beforeAll(async () => {
  api = await startServiceProcess('services/console/main.ts', lab.environment('console'))
})
afterAll(() => api?.[Symbol.asyncDispose]())

type Found = {
  readonly symptom: string
  readonly cause: string
  readonly subject: string | null
  readonly owner: string
  readonly next: readonly { readonly run: string }[]
}
type Diagnosis = {
  readonly verdict: { readonly status: string; readonly text: string }
  readonly findings: readonly Found[]
}

/** As a script would: the exit code must agree with the verdict. */
async function diagnose(...args: string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await notesctl(lab, ['diagnose', ...args, '--json'], {
    env: { CONSOLE_URL: api.url },
  })
  if (code !== 0 && code !== 8) throw new Error(`notesctl diagnose ended with ${code}: ${stderr}`)
  const diagnosis = JSON.parse(stdout) as Diagnosis
  expect(code).toBe(diagnosis.verdict.status === 'in-order' ? 0 : 8)
  return diagnosis
}

const found = (diagnosis: Diagnosis, cause: string) =>
  diagnosis.findings.find((finding) => finding.cause === cause)

const save = async (noteId: string, revision = 1) => {
  expect((await client.save({ noteId, revision })).status).toBe(202)
}

test('a connector that somebody stopped is named with what waits for it, and not when it runs again', async () => {
  const connect = new ConnectClient(lab.addresses.connectUrl)
  const { name } = outboxConnector()
  await connect.stop(name)
  const noteId = uniqueNoteId('diag')
  await save(noteId)
  const late = await waitFor('the pending revision to be late', async () => {
    const diagnosis = await diagnose()
    return diagnosis.findings.some(({ symptom }) => symptom === 'intent-pending') && diagnosis
  })
  expect(found(late, 'connector-paused')).toMatchObject({
    owner: 'relay',
    next: [{ run: expect.stringContaining(`/connectors/${name}/resume`) }],
  })
  expect(late.findings.find(({ symptom }) => symptom === 'intent-pending')).toMatchObject({
    cause: 'connector-paused',
    subject: `${noteId}:1`,
  })
  await connect.resume(name)
  await waitFor('the finding to be gone', async () => {
    const { findings } = await diagnose()
    return findings.every(
      ({ symptom, cause }) => symptom !== 'intent-pending' && cause !== 'connector-paused',
    )
  })
})

test('a consumer that is stopped is named with the number of records that wait', async () => {
  await lab.stop('projector')
  try {
    await save(uniqueNoteId('diag'))
    const down = await waitFor('nobody reads for the catalog', async () =>
      found(await diagnose(), 'consumer-down'),
    )
    expect(down).toMatchObject({ symptom: 'relayed-not-applied', owner: 'projector' })
  } finally {
    await lab.start('projector')
  }
  await waitFor('it is read again', async () => !found(await diagnose(), 'consumer-down'))
})
