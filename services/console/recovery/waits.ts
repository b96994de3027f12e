import { ConnectRefused, ConnectUnavailable } from '../../../core/connect-client.ts'
import { isTransientDatabaseError } from '../../../core/database.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { StepWaits } from './steps.ts'

/** Why a step is not done yet and what starts the server it waits for. Pure; undefined: nobody expected it. */
export function whyItWaits(error: unknown): string | undefined {
  if (error instanceof StepWaits || error instanceof ConnectRefused) return error.message
  if (error instanceof ConnectUnavailable) return startFirst(error.message, 'Kafka Connect')
  if (error instanceof KafkaUnavailable) return startFirst(error.message, 'Kafka')
  if (isTransientDatabaseError(error)) return startFirst('A database is away or busy.', 'it')
  return undefined
}

const startFirst = (what: string, server: string): string =>
  `${what.replace(/[.\s]*$/, '.')} If it is down, start ${server}: bin/up`
