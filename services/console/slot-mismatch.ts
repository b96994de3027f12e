import { ConnectClient, ConnectRefused, ConnectUnavailable } from '../../core/connect-client.ts'
import { hasSlotMismatch } from '../../core/connector-failure.ts'
import type { ConsoleParts } from './parts.ts'

const LIMIT_MS = 5_000

/**
 * Has the connector failed because its stored position and the slot do not fit? Nothing starts it again by
 * itself then. false also when Connect does not say: nothing is known of the task.
 */
export async function readSlotMismatch({
  connectUrl,
  connector,
}: Pick<ConsoleParts['relay'], 'connectUrl' | 'connector'>): Promise<boolean> {
  try {
    const status = await new ConnectClient(connectUrl, LIMIT_MS).status(connector)
    return status !== undefined && hasSlotMismatch(status)
  } catch (error) {
    if (error instanceof ConnectUnavailable || error instanceof ConnectRefused) return false
    throw error
  }
}
