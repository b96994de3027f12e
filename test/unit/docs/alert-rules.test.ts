import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { registerRelayMetrics } from '../../../connectors/watch/metrics.ts'
import { NOTHING_OBSERVED } from '../../../connectors/watch/observation.ts'
import type { Pool } from '../../../core/database.ts'
import { createHttpApp } from '../../../core/http-app.ts'
import { createLogger } from '../../../core/log.ts'
import { createMetrics } from '../../../core/metrics.ts'
import { ALARM_CODES, ALARMS } from '../../../core/relay/alarms.ts'
import { erasureGauges } from '../../../services/console/erasure/runner.ts'
import { createProjectorMetrics } from '../../../services/projector/metrics.ts'
import { createQuarantineMetrics } from '../../../services/projector/quarantine-metrics.ts'
import { registerReadMetrics } from '../../../services/read-api/metrics.ts'
import { commandMetrics, poolMetrics } from '../../../services/write-api/metrics.ts'

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook', string>>
}
const file = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const rules: readonly Rule[] = parse(file('alerts/notes-pipeline.rules.yml')).groups.flatMap(
  ({ rules: all }: { rules: Rule[] }) => all,
)
const tested: readonly string[] = parse(file('alerts/notes-pipeline.tests.yml')).tests.map(
  ({ name }: { name: string }) => name,
)

/** Every metric of every process, by name, with its labels. */
async function metricsOfTheCode(): Promise<ReadonlyMap<string, readonly string[]>> {
  const registry = createMetrics('test')
  registerRelayMetrics(registry, {
    seen: () => NOTHING_OBSERVED,
    troubles: () => new Map(),
    unwrittenIncidents: () => 0,
  })
  createProjectorMetrics(registry)
  createQuarantineMetrics(registry)
  erasureGauges(registry)
  commandMetrics(registry)
  poolMetrics(registry, { idleCount: 0, totalCount: 0, waitingCount: 0 } as Pool)
  registerReadMetrics(registry, { size: 0 } as never, { read: async () => undefined } as never)
  const logger = createLogger('test', 'silent')
  createHttpApp(
    { logger, metrics: registry, checks: [], document: {} as never, translate: () => undefined },
    () => {},
  )
  const labels = new Map<string, readonly string[]>()
  for (const { name } of await registry.getMetricsAsJSON()) {
    const metric = registry.getSingleMetric(name) as unknown as { labelNames?: string[]; type: string }
    const names = [...(metric.labelNames ?? []), 'service']
    labels.set(name, names)
    for (const suffix of ['_count', '_sum', '_bucket']) labels.set(`${name}${suffix}`, names)
  }
  return labels
}

const NOT_METRICS = /^(max|min|sum|count|by|and|on|rate|increase|absent)$/

describe('docs/alerts', () => {
  it('names only metrics that the processes have, with labels that they have', async () => {
    const known = await metricsOfTheCode()
    for (const { alert, expr } of rules) {
      const withoutLabels = expr.replaceAll(/\{[^}]*\}|(?:by|on) \([^)]*\)|\[[^\]]*\]/g, '')
      const names = withoutLabels.match(/[a-z_]+/g)?.filter((word) => !NOT_METRICS.test(word)) ?? []
      expect(names, alert).not.toEqual([])
      for (const name of names) expect([...known.keys()], alert).toContain(name)
      const labels = [
        ...[...expr.matchAll(/(?:by|on) \(([^)]*)\)/g)].flatMap(([, list]) => list?.split(', ') ?? []),
        ...[...expr.matchAll(/([a-z]+)=~?"/g)].map(([, label]) => label),
      ]
      const labelsKnown = names.flatMap((name) => known.get(name) ?? [])
      for (const label of labels) expect(labelsKnown, `${alert}: ${label}`).toContain(label)
    }
  })

  it('has a rule for every alarm of the watcher, with its severity and hint', () => {
    for (const code of ALARM_CODES) {
      const own = rules.filter(({ expr }) => expr.includes(`relay_alarm{alarm="${code}"}`))
      expect(own, code).toHaveLength(1)
      expect(own[0]?.labels.severity, code).toBe(ALARMS[code].severity)
      expect(own[0]?.annotations.description, code).toBe(ALARMS[code].hint)
    }
  })

  it('tests every rule, and points each to a section of the runbook that exists', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(tested.slice(0, rules.length))
    const sections = [...file('runbook.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title)
    for (const { alert, annotations } of rules) {
      for (const [, section] of annotations.runbook.matchAll(/"([^"]+)"/g))
        expect(sections, alert).toContain(section)
    }
  })
})
