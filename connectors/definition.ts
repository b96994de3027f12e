import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A connector as Kafka Connect's REST API takes it: flat strings. */
export type ConnectorDefinition = {
  readonly name: string
  readonly config: Readonly<Record<string, string>>
}

const ConnectorFile = z.strictObject({ name: z.string(), config: z.record(z.string(), z.string()) })

/** The shipped connector. Addresses and secrets in it are `${env:…}` placeholders that the Connect worker fills. */
export function outboxConnector(): ConnectorDefinition {
  const file = new URL('./outbox-connector.json', import.meta.url)
  return ConnectorFile.parse(JSON.parse(readFileSync(file, 'utf8')))
}
