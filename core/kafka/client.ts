import { createRequire } from 'node:module'
import net from 'node:net'
import { Kafka, type LogEntry, logLevel } from 'kafkajs'
import type { Logger } from '../log.ts'
import { endWhenUnanswered } from './unanswered.ts'

/**
 * kafkajs 2.2.4 arms a timer after every response even when nothing is pending and nothing is throttled:
 * throttledUntil is −1, so the delay is negative, Node prints TimeoutNegativeWarning and runs it after
 * 1 ms, over and over. With nothing pending there is nothing to check; a new request checks for itself.
 */
function stopIdleTimer(): void {
  const require = createRequire(import.meta.url)
  const RequestQueue = require('kafkajs/src/network/requestQueue')
  const schedule = RequestQueue.prototype.scheduleCheckPendingRequests
  RequestQueue.prototype.scheduleCheckPendingRequests = function (this: {
    pending: unknown[]
    throttledUntil: number
  }) {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this)
  }
}
stopIdleTimer()

export type KafkaOptions = {
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly logger: Logger
  /** How often kafkajs repeats a failed request by itself. */
  readonly retries?: number
}

/** The one place where a kafkajs client is made: no Nagle delay, bounded requests, its log in ours. */
export function createKafka({ brokers, clientId, logger, retries = 8 }: KafkaOptions): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    enforceRequestTimeout: true,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries },
    socketFactory: ({ host, port, onConnect }) => {
      const socket = net.connect({ host, port }, onConnect)
      socket.setNoDelay(true)
      socket.setKeepAlive(true, 30_000)
      endWhenUnanswered(socket)
      return socket
    },
    logLevel: logLevel.INFO,
    logCreator: () => (entry) =>
      logger[levelOf(entry)]({ kafkajs: entry.namespace, ...factsOf(entry) }, entry.log.message),
  })
}

/** What every rebalance says, on every member. kafkajs joins again by itself; it is no error of anybody. */
const REBALANCE = /group is rebalancing|generation id is not valid|coordinator is not aware of this member/

function levelOf({ level, log }: LogEntry): 'error' | 'warn' | 'debug' {
  if (REBALANCE.test(`${log.error} ${log.message}`)) return 'debug'
  if (level === logLevel.ERROR) return 'error'
  return level === logLevel.WARN ? 'warn' : 'debug'
}

function factsOf({ log }: LogEntry): Record<string, unknown> {
  const { message: _message, timestamp: _timestamp, logger: _logger, ...facts } = log
  return facts
}
