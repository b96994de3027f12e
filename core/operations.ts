import { Router } from 'express'
import type { Registry } from './metrics.ts'

/** One thing readiness depends on. `check` throws, or answers with a reason, when it is not in order. */
export type ReadinessCheck = {
  readonly name: string
  readonly check: () => Promise<string | undefined>
}

const CHECK_LIMIT_MS = 2_000

async function outcome({ check }: ReadinessCheck): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, CHECK_LIMIT_MS, `no answer within ${CHECK_LIMIT_MS} ms`)
  })
  try {
    return await Promise.race([check(), limit])
  } catch {
    // Driver texts may name hosts and users; the log has them.
    return 'not reachable'
  } finally {
    clearTimeout(timer)
  }
}

/**
 * /livez: the process runs. /readyz: 200, or 503 with the reason for each check that fails.
 * /metrics: Prometheus text. The same on every process.
 */
export function operationsRouter(metrics: Registry, checks: readonly ReadinessCheck[]): Router {
  const router = Router()
  router.get('/livez', (_req, res) => {
    res.set('Cache-Control', 'no-store').json({ status: 'live' })
  })
  router.get('/readyz', async (_req, res) => {
    const entries = await Promise.all(checks.map(async (item) => [item.name, await outcome(item)] as const))
    const failed = entries.filter(([, reason]) => reason !== undefined)
    res
      .status(failed.length === 0 ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json({
        status: failed.length === 0 ? 'ready' : 'not-ready',
        checks: Object.fromEntries(entries.map(([name, reason]) => [name, reason ?? 'ok'])),
      })
  })
  router.get('/metrics', async (_req, res) => {
    res
      .set('Cache-Control', 'no-store')
      .type(metrics.contentType)
      .send(await metrics.metrics())
  })
  return router
}
