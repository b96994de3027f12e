import { NAMES } from '../../../lab/layout.ts'
import type { Lab } from '../../support/lab-interface.ts'
import { insist } from './patience.ts'

const REQUEST_LIMIT_MS = 10_000

async function ask(lab: Lab, method: 'POST' | 'PUT', part: string): Promise<void> {
  const response = await fetch(`${lab.addresses.connectUrl}/connectors/${NAMES.connector}/${part}`, {
    method,
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  })
  if (!response.ok) throw new Error(`${method} ${part}: ${response.status} ${await response.text()}`)
}

export const restartConnector = (lab: Lab): Promise<void> =>
  insist('restart the connector', () => ask(lab, 'POST', 'restart?includeTasks=true'))

export const pauseConnector = (lab: Lab): Promise<void> =>
  insist('pause the connector', () => ask(lab, 'PUT', 'pause'))

export const resumeConnector = (lab: Lab): Promise<void> =>
  insist('resume the connector', () => ask(lab, 'PUT', 'resume'))
