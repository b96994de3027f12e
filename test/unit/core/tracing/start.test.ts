import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import { describe, expect, test, vi } from 'vitest'
import { loadConfig, TRACING_VARIABLES } from '../../../../core/config.ts'
import { createLogger } from '../../../../core/log.ts'
import { samplerOf } from '../../../../core/tracing/otlp.ts'
import { endpointOf, startTracing } from '../../../../core/tracing/start.ts'

const configOf = (env: Record<string, string>) => loadConfig(TRACING_VARIABLES, env)

describe('whether a process traces', () => {
  test.each([
    ['nothing is set', {}, undefined],
    ['a collector', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' }, 'http://c:4318/v1/traces'],
    [
      'the whole address goes before',
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://d/api/spans',
      },
      'https://d/api/spans',
    ],
    ['switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }, undefined],
  ])('%s', (_what, env, expected) => {
    expect(endpointOf(configOf(env))).toBe(expected)
  })

  test('without a collector there is no tracer and nothing to stop', async () => {
    const onStop = vi.fn()
    expect(
      await startTracing('write-api', configOf({}), createLogger('test', 'silent'), onStop),
    ).toBeUndefined()
    expect(onStop).not.toHaveBeenCalled()
  })

  test('a protocol that is not spoken is refused by name', () => {
    expect(() => configOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(/OTEL_EXPORTER_OTLP_PROTOCOL/)
  })
})

describe('which traces are recorded', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const under = (flags: number) =>
    trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId: 'b7ad6b7169203331',
      traceFlags: flags,
      isRemote: true,
    })
  const takes = (env: Record<string, string>, context = ROOT_CONTEXT) =>
    samplerOf(configOf(env)).shouldSample(context, traceId, 'x', SpanKind.SERVER, {}, []).decision ===
    SamplingDecision.RECORD_AND_SAMPLED

  test.each([
    [{}, true, true, false],
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, true, true, true],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, false, false, false],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, false, false, false],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, false, true, false],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, false, true, false],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, true, true, false],
  ] as [Record<string, string>, boolean, boolean, boolean][])(
    '%o: new %s, sampled by the caller %s, not sampled by the caller %s',
    (env, root, sampled, unsampled) => {
      expect([takes(env), takes(env, under(TraceFlags.SAMPLED)), takes(env, under(TraceFlags.NONE))]).toEqual(
        [root, sampled, unsampled],
      )
    },
  )
})
