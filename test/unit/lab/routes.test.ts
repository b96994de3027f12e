import { expect, test } from 'vitest'
import { layoutOf } from '../../../lab/layout.ts'
import { DEFAULT_PORTS } from '../../../lab/ports.ts'
import { Routes } from '../../../lab/routes.ts'

const secrets = { passwords: {}, passwordsFile: 'p', jwksPath: 'j', privateKeyPath: 'k' }

test('without routes every client gets the servers’ own ports', () => {
  const { environments } = layoutOf(DEFAULT_PORTS, secrets)
  expect(environments.projector?.KAFKA_BROKERS).toBe('127.0.0.1:29092')
  expect(environments['write-api']?.SOURCE_DATABASE_URL).toContain(':25432/')
})

test('a routed client gets the proxy’s port, everybody else and the addresses stay', () => {
  const routes = Routes.parse({ ports: { projector: { kafka: 5, projectionDb: 6 } } })
  const { environments, addresses, databases } = layoutOf(DEFAULT_PORTS, secrets, routes)
  expect(environments.projector?.KAFKA_BROKERS).toBe('127.0.0.1:5')
  expect(environments.projector?.PROJECTION_DATABASE_URL).toContain(':6/')
  expect(environments.watcher?.KAFKA_BROKERS).toBe('127.0.0.1:29092')
  expect(addresses.kafkaBrokers).toBe('127.0.0.1:29092')
  expect(databases.projection.projection_projector).toContain(':25433/')
})
