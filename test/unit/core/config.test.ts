import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  loadConfig,
  PROCESS_VARIABLES,
  VARIABLES,
  type VariableName,
} from '../../../core/config.ts'

const names = Object.keys(VARIABLES) as VariableName[]
const SAMPLE = {
  PORT: '18080',
  SOURCE_DATABASE_URL: 'postgres://role:secret@127.0.0.1:5432/notes',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:8081/apis/ccompat/v7/',
  KAFKA_BROKERS: 'a:9092, b:9092',
}
const refusal = (wanted: readonly VariableName[], env: Record<string, string>): string => {
  try {
    loadConfig(wanted, env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('the configuration was taken')
}

describe('configuration', () => {
  test('names every missing variable at once', () => {
    const message = refusal(['PORT', 'SOURCE_DATABASE_URL', 'KAFKA_BROKERS'], {})
    for (const name of ['PORT', 'SOURCE_DATABASE_URL', 'KAFKA_BROKERS']) {
      expect(message).toContain(`${name}: is not set`)
    }
  })

  test('names missing and wrong ones together, and echoes no value', () => {
    const message = refusal(['PORT', 'SOURCE_DATABASE_URL', 'KAFKA_BROKERS'], {
      PORT: '70000',
      SOURCE_DATABASE_URL: 'mysql://root:hunter2@db/notes',
    })
    expect(message).toMatch(/PORT: /)
    expect(message).toMatch(/SOURCE_DATABASE_URL: must be a postgres:\/\/ URL/)
    expect(message).toMatch(/KAFKA_BROKERS: is not set/)
    expect(message).not.toContain('hunter2')
  })

  test('reads only what is asked for, with types', () => {
    expect(loadConfig(['PORT', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'HOST'], SAMPLE)).toEqual({
      PORT: 18080,
      KAFKA_BROKERS: ['a:9092', 'b:9092'],
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:8081/apis/ccompat/v7',
      HOST: '127.0.0.1',
    })
  })

  test('an empty variable is one that is not set', () => {
    expect(loadConfig(['LOG_LEVEL'], { LOG_LEVEL: '' })).toEqual({ LOG_LEVEL: 'info' })
  })

  test('whatever the environment holds, it is taken or refused by name, never anything else', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), fc.string()),
        fc.subarray(names, { minLength: 1 }),
        (env, wanted) => {
          try {
            const given = (name: VariableName) =>
              Boolean(env[name]) || VARIABLES[name].safeParse(undefined).data !== undefined
            expect(Object.keys(loadConfig(wanted, env)).sort()).toEqual(wanted.filter(given).sort())
          } catch (error) {
            expect(error).toBeInstanceOf(ConfigError)
          }
        },
      ),
    )
  })

  test('every variable is described', () => {
    for (const name of names) expect(VARIABLES[name].description, name).toBeTruthy()
  })

  test('a process asks for no variable twice', () => {
    for (const wanted of Object.values(PROCESS_VARIABLES)) expect(new Set(wanted).size).toBe(wanted.length)
  })
})
