import { ConnectClient } from '../../../core/connect-client.ts'
import type { Pool } from '../../../core/database.ts'
import type { ConsoleParts } from '../parts.ts'
import { readSlot } from '../recovery/slot.ts'
import type { RelayFacts } from './decide.ts'

const LIMIT_MS = 3_000

/** @throws ConnectUnavailable, ConnectRefused, or the database's error when it is away */
export async function readRelay(source: Pool, relay: ConsoleParts['relay']): Promise<RelayFacts> {
  const [slot, connector] = await Promise.all([
    readSlot(source, relay.slotName),
    new ConnectClient(relay.connectUrl, LIMIT_MS).status(relay.connector),
  ])
  return { slot, connector }
}

/** The recovery of the relay that is not finished; while there is one, no replay sends anything. */
export async function unfinishedRecovery(source: Pool): Promise<string | undefined> {
  const { rows } = await source.query('SELECT id FROM relay_recoveries WHERE finished_at IS NULL')
  return rows[0]?.id
}
