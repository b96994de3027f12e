import type { Lab } from './lab.ts'
import type { scratchRelay } from './scratch-relay.ts'
import { startServiceProcess } from './service-process.ts'
import { waitFor } from './wait.ts'

export type Relay = Awaited<ReturnType<typeof scratchRelay>>
// biome-ignore lint/suspicious/noExplicitAny: what an answer must hold is the test's to check
type Answer = { readonly status: number; readonly json: any }

/** The operator API of a relay of a test's own. `env` puts another database in its place. */
export async function openRelayConsole(lab: Lab, relay: Relay, env: Readonly<Record<string, string>> = {}) {
  const process = await startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
    KAFKA_TOPIC: relay.topic,
    CONSUMER_GROUP_PREFIX: relay.connectorName,
    CONNECTOR_NAME: relay.connectorName,
    RELAY_SLOT_NAME: relay.slotName,
    ...env,
  })
  /** As an operator: a GET, or a POST with `json`. */
  async function ask(path: string, json?: unknown): Promise<Answer> {
    const response = await fetch(`${process.url}${path}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${await lab.token({ subject: 'olga', roles: ['operator'] })}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    return { status: response.status, json: await response.json() }
  }
  /** Begins what `path` is about, and waits until it has that status. */
  async function until(path: string, status: string, limitMs = 120_000) {
    return waitFor(
      `${path} to be ${status}`,
      async () => {
        const { json } = await ask(path)
        return json.status === status && json
      },
      { limitMs },
    )
  }
  return {
    url: process.url,
    ask,
    until,
    /** Does what the relay needs: `relay recover`. */
    async recover(reason: string) {
      const begun = await ask('/relay/recovery', { reason })
      if (begun.status !== 202) throw new Error(JSON.stringify(begun.json))
      return until(`/relay/recovery/${begun.json.id}`, 'finished')
    },
    /** What verify finds: the differences by class, without those that are none. */
    async verify() {
      const { json } = await ask('/verifications', {})
      const { result } = await until(`/verifications/${json.id}`, 'done')
      const { json: listed } = await ask(`/verifications/${json.id}/differences`)
      return {
        equal: result.equal as boolean,
        differences: listed.differences as { class: string; noteId: string; revision: number }[],
      }
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}
