import { z } from 'zod'
import type { ServiceName } from './names.ts'
import type { Ports } from './ports.ts'

/** Servers that a client of the lab may be led to by another port than their own. */
export const ROUTED = ['sourceDb', 'projectionDb', 'kafka', 'registry', 'connect', 'readApi'] as const
export type RoutedServer = (typeof ROUTED)[number]

/**
 * Proxies between the parts of a lab: a test starts them, and the lab gives each client their ports instead
 * of the servers' own. The lab itself (setup, readiness) and whoever reads its addresses goes straight.
 */
export const Routes = z.object({
  /** By client, then by server: the port on this machine that this client gets. */
  ports: z.record(z.string(), z.partialRecord(z.enum(ROUTED), z.int())).default({}),
  /** A broker tells its clients where to go: one listener for each way to it, with the proxy's port. */
  kafkaListeners: z
    .array(z.object({ name: z.string().regex(/^[A-Z_0-9]+$/), port: z.int(), advertisedPort: z.int() }))
    .default([]),
})
export type Routes = z.infer<typeof Routes>

export const NO_ROUTES: Routes = { ports: {}, kafkaListeners: [] }

/** The lab's ports as one client is to see them. */
export const portsFor = (ports: Ports, routes: Routes, client: ServiceName | 'connect'): Ports => ({
  ...ports,
  ...routes.ports[client],
})
