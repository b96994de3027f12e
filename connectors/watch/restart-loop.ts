import { type ConnectClient, type ConnectorStatus, ConnectUnavailable } from '../../core/connect-client.ts'
import type { Logger } from '../../core/log.ts'
import { slotFaultOf } from '../../core/relay/slot.ts'
import { lastRead, type Observation, timed } from './observation.ts'
import { decideRestart, type Failures, NO_RESTARTS, type RestartDecision } from './restart.ts'

export type RestartOptions = {
  readonly connect: ConnectClient
  readonly connectorName: string
  readonly logger: Logger
  readonly onDecision: (decision: RestartDecision) => void
}

/** A source reading older than this says nothing about the slot's identity now. */
const SOURCE_FRESH_MS = 3_000

/** One tick: observe the connector, decide about what failed, restart it or leave it. */
export class RestartTick {
  readonly #options: RestartOptions
  #state = NO_RESTARTS
  #logged = ''
  #last: RestartDecision = { action: 'nothing' }

  constructor(options: RestartOptions) {
    this.#options = options
  }

  /** Never throws. */
  async run(source: Observation['source']): Promise<Pick<Observation, 'connector' | 'restart'>> {
    const { connect, connectorName, logger } = this.#options
    const status = await timed<ConnectorStatus | null>(
      async () => (await connect.status(connectorName)) ?? null,
      (error) => logger.debug({ err: error, part: 'connect' }, 'a reading failed'),
    )
    // While Connect is away what was decided stays: nothing new is known of what failed.
    if (status.status === 'read') this.#last = await this.#act(failuresOf(status.value), source)
    else if (this.#last.action === 'restart') this.#last = { action: 'nothing' }
    return { connector: status, restart: this.#last }
  }

  async #act(failures: Failures, source: Observation['source']): Promise<RestartDecision> {
    const { connect, connectorName, logger, onDecision } = this.#options
    const nowMs = performance.now()
    const { decision, state } = decideRestart(this.#state, { failures, source: slotOf(source, nowMs), nowMs })
    this.#state = state
    this.#log(decision)
    onDecision(decision)
    if (decision.action !== 'restart') return decision
    try {
      await connect.restartFailed(connectorName)
    } catch (error) {
      // A rebalance or a dying worker: the next tick sees what became of it.
      const level = error instanceof ConnectUnavailable ? 'debug' : 'warn'
      logger[level]({ err: error }, 'the restart was not taken')
    }
    return decision
  }

  #log(decision: RestartDecision): void {
    const text = decision.action === 'nothing' ? '' : `${decision.action}: ${decision.reason}`
    const isNews = text !== this.#logged || decision.action === 'restart'
    this.#logged = text
    if (!isNews || decision.action === 'nothing') return
    const { logger } = this.#options
    if (decision.action === 'leave')
      logger.error(decision, 'the connector failed and is left: a person must act')
    else logger.warn(decision, 'the connector failed')
  }
}

function failuresOf(status: ConnectorStatus | null): Failures {
  if (!status) return []
  return [status.connector, ...status.tasks]
    .filter((part) => part.state === 'FAILED')
    .map((part) => part.trace ?? 'no trace was reported')
}

function slotOf(source: Observation['source'], nowMs: number) {
  const facts = lastRead(source)
  if (!facts || source.status !== 'read' || nowMs - source.atMs > SOURCE_FRESH_MS) return undefined
  return { slotFault: slotFaultOf(facts), confirmedLsn: facts.slot?.confirmedFlushLsn?.text ?? null }
}
