import { createServer, type Server } from 'node:http'
import { z } from 'zod'

export const ACTIONS = ['start', 'stop', 'restart', 'kill', 'pause', 'continue'] as const
export type Action = (typeof ACTIONS)[number]

/** What GET /lab answers. */
export const LabReport = z.object({
  /**
   * starting: servers, setup, services. ready: the servers are, setup is done, our services answer (a person
   * may be needed before they are ready). failed: `reason` says what, the rest keeps running.
   */
  phase: z.enum(['starting', 'ready', 'failed', 'stopping']),
  reason: z.string().optional(),
  /** Milliseconds from the supervisor's start until everything was ready. */
  readyAfterMs: z.number().optional(),
  setup: z.object({
    state: z.enum(['waiting', 'running', 'done', 'failed']),
    afterMs: z.number().optional(),
    /** What the last run changed: nothing, when everything was in place. */
    changed: z.array(z.string()),
    /** What a person must look at. */
    warnings: z.array(z.string()),
    /** What keeps notes from being relayed until a person has done something. */
    problems: z.array(z.string()).default([]),
  }),
  /** Which ports are not the usual ones, a line each. */
  portNotes: z.array(z.string()).default([]),
  processes: z.array(
    z.object({
      name: z.string(),
      state: z.string(),
      /** It answers, ready or not. */
      live: z.boolean().default(false),
      pid: z.int().optional(),
      readyAfterMs: z.number().optional(),
      restarts: z.int(),
      lastExit: z.string().optional(),
      reason: z.string().optional(),
      logFile: z.string(),
    }),
  ),
})
export type LabReport = z.infer<typeof LabReport>

export type ControlHandlers = {
  report(): LabReport
  /** @returns false when there is no such process. */
  act(name: string, action: Action): Promise<boolean>
  setup(): Promise<void>
  shutdown(): void
}

/**
 * HTTP on a Unix socket that only its owner may open:
 * GET /lab, GET /processes, POST /processes/NAME/ACTION, POST /setup, POST /shutdown.
 */
export function startControlServer(socketPath: string, handlers: ControlHandlers): Promise<Server> {
  const server = createServer((req, res) => {
    const answer = (status: number, body: unknown) => {
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
    }
    const route = async () => {
      const [first, name, action] = (req.url ?? '').split('/').slice(1)
      if (req.method === 'GET' && first === 'lab') return answer(200, handlers.report())
      if (req.method === 'GET' && first === 'processes') return answer(200, handlers.report().processes)
      if (req.method === 'POST' && first === 'setup') {
        await handlers.setup()
        return answer(200, handlers.report())
      }
      if (req.method === 'POST' && first === 'shutdown') {
        handlers.shutdown()
        return answer(202, {})
      }
      const known = ACTIONS.find((item) => item === action)
      if (req.method !== 'POST' || first !== 'processes' || !known || !name) {
        return answer(404, { error: 'no such route' })
      }
      return (await handlers.act(name, known))
        ? answer(200, handlers.report().processes)
        : answer(404, {
            error: `${name} is no part of this lab; it has: ${handlers
              .report()
              .processes.map((part) => part.name)
              .join(', ')}`,
          })
    }
    route().catch((error) => answer(500, { error: (error as Error).message }))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const mask = process.umask(0o077)
    server.listen(socketPath, () => resolve(server))
    process.umask(mask)
  })
}
