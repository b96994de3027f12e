import { pino } from 'pino'

export type { Logger } from 'pino'

/** JSON lines on stdout. Strings are JSON-escaped, so CR/LF in an id or header cannot forge a line. */
export function createLogger(service: string, level: string) {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: ['authorization', 'password', 'token', '*.authorization', '*.password', '*.token'] },
  })
}
