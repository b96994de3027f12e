import { pino } from 'pino'

export type { Logger } from 'pino'

/**
 * JSON lines on stdout. Strings are JSON-escaped, so CR/LF in an id or header cannot forge a line.
 * Written synchronously: the last lines before an exit are there, and when the reader of stdout is gone
 * the process can still end (pino's own flush at exit would repeat the failing write for ever).
 */
export function createLogger(service: string, level: string) {
  return pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['authorization', 'password', 'token', '*.authorization', '*.password', '*.token'] },
    },
    pino.destination({ fd: process.stdout.fd, sync: true }),
  )
}
