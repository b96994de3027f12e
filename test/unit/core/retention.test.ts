import { describe, expect, it } from 'vitest'
import { loadConfig, PROCESS_VARIABLES, VARIABLES } from '../../../core/config.ts'
import { brokenByLimits, brokenByTopic, retentionLimits } from '../../../core/retention.ts'

const DAY_MS = 86_400_000
const limits = { envelopeDays: 60, receiptDays: 14, restoreDays: 7, rowsPerSecond: 1_000 }
const rules = (broken: readonly { readonly rule: string }[]) => broken.map(({ rule }) => rule)

describe('the retention contract', () => {
  it('holds with the shipped settings, at the start of the operator API and with the shipped topic', () => {
    const shipped = {
      RETENTION_ENVELOPE_DAYS: VARIABLES.RETENTION_ENVELOPE_DAYS.parse(undefined),
      RETENTION_RECEIPT_DAYS: VARIABLES.RETENTION_RECEIPT_DAYS.parse(undefined),
      RETENTION_RESTORE_DAYS: VARIABLES.RETENTION_RESTORE_DAYS.parse(undefined),
      RETENTION_ROWS_PER_SECOND: VARIABLES.RETENTION_ROWS_PER_SECOND.parse(undefined),
    }
    expect(PROCESS_VARIABLES.console).toEqual(expect.arrayContaining(Object.keys(shipped)))
    expect(
      brokenByTopic(retentionLimits(shipped), { cleanupPolicy: 'delete', retentionMs: 30 * DAY_MS }),
    ).toEqual([])
  })

  it.each([
    ['receipts-too-short', { receiptDays: 6 }],
    ['envelopes-before-receipts', { receiptDays: 61 }],
    ['envelopes-before-restore', { restoreDays: 61 }],
  ])('is broken by settings as %s', (rule, change) => {
    expect(rules(brokenByLimits({ ...limits, ...change }))).toEqual([rule])
  })

  it.each([
    ['topic-compacts', { cleanupPolicy: 'compact', retentionMs: -1 }],
    ['topic-compacts', { cleanupPolicy: null, retentionMs: -1 }],
    ['topic-before-restore', { cleanupPolicy: 'delete', retentionMs: 7 * DAY_MS - 1 }],
    ['topic-before-restore', { cleanupPolicy: 'delete', retentionMs: null }],
  ])('is broken by the topic as %s', (rule, topic) => {
    expect(rules(brokenByTopic(limits, topic))).toEqual([rule])
    expect(brokenByTopic(limits, { cleanupPolicy: 'delete', retentionMs: -1 })).toEqual([])
  })

  it('names every broken rule at once when a process would start with it', () => {
    const config = loadConfig(
      [
        'RETENTION_ENVELOPE_DAYS',
        'RETENTION_RECEIPT_DAYS',
        'RETENTION_RESTORE_DAYS',
        'RETENTION_ROWS_PER_SECOND',
      ],
      { RETENTION_ENVELOPE_DAYS: '3', RETENTION_RECEIPT_DAYS: '5' },
    )
    expect(() => retentionLimits(config)).toThrow(
      /nothing was started[\s\S]*receipts-too-short[\s\S]*envelopes-before-receipts[\s\S]*envelopes-before-restore/,
    )
  })
})
