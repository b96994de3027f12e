import { ConfigError } from './config.ts'

/** The numbers of docs/retention.md that a deployment may set. */
export type RetentionLimits = {
  /** An envelope is kept at least so long. */
  readonly envelopeDays: number
  /** A request receipt is kept at least so long. */
  readonly receiptDays: number
  /** The oldest backup of the projection that may ever be restored. */
  readonly restoreDays: number
  /** Rows that a run changes a second, at most. */
  readonly rowsPerSecond: number
}

/** How the topic forgets. Milliseconds; retentionMs below zero: never by time. null: the broker does not say. */
export type TopicForgets = { readonly cleanupPolicy: string | null; readonly retentionMs: number | null }

/** A rule of the contract that does not hold, by a stable name. */
export type BrokenRule = { readonly rule: string; readonly explanation: string }

export const MIN_RECEIPT_DAYS = 7
const DAY_MS = 86_400_000

/** Rules between the numbers themselves. Pure. */
export function brokenByLimits({ envelopeDays, receiptDays, restoreDays }: RetentionLimits): BrokenRule[] {
  const broken: BrokenRule[] = []
  if (receiptDays < MIN_RECEIPT_DAYS) {
    broken.push({
      rule: 'receipts-too-short',
      explanation: `RETENTION_RECEIPT_DAYS is ${receiptDays}; clients may repeat a request for ${MIN_RECEIPT_DAYS} days and get its answer.`,
    })
  }
  if (envelopeDays < receiptDays) {
    broken.push({
      rule: 'envelopes-before-receipts',
      explanation: `RETENTION_ENVELOPE_DAYS is ${envelopeDays}, RETENTION_RECEIPT_DAYS ${receiptDays}: a request that may still be repeated must have an event that can still be replayed.`,
    })
  }
  if (envelopeDays < restoreDays) {
    broken.push({
      rule: 'envelopes-before-restore',
      explanation: `RETENTION_ENVELOPE_DAYS is ${envelopeDays}, RETENTION_RESTORE_DAYS ${restoreDays}: a projection restored from a backup that old has to get every later event once more.`,
    })
  }
  return broken
}

/** Rules between the numbers and how the topic really forgets. Pure. */
export function brokenByTopic({ restoreDays }: RetentionLimits, topic: TopicForgets): BrokenRule[] {
  const { cleanupPolicy, retentionMs } = topic
  const broken: BrokenRule[] = []
  if (cleanupPolicy !== 'delete') {
    broken.push({
      rule: 'topic-compacts',
      explanation: `The topic has cleanup.policy ${cleanupPolicy ?? 'unknown'}: it must be delete, so that what is there is whole up to an age.`,
    })
  }
  if (retentionMs === null || (retentionMs >= 0 && retentionMs < restoreDays * DAY_MS)) {
    const kept = retentionMs === null ? 'unknown' : `${+(retentionMs / DAY_MS).toFixed(2)} days`
    broken.push({
      rule: 'topic-before-restore',
      explanation: `The topic's retention.ms is ${kept}, RETENTION_RESTORE_DAYS ${restoreDays}: a projection restored from a backup that old would find its next records gone.`,
    })
  }
  return broken
}

/** @throws ConfigError naming every rule of the contract that the settings break */
export function retentionLimits(config: {
  readonly RETENTION_ENVELOPE_DAYS: number
  readonly RETENTION_RECEIPT_DAYS: number
  readonly RETENTION_RESTORE_DAYS: number
  readonly RETENTION_ROWS_PER_SECOND: number
}): RetentionLimits {
  const limits: RetentionLimits = {
    envelopeDays: config.RETENTION_ENVELOPE_DAYS,
    receiptDays: config.RETENTION_RECEIPT_DAYS,
    restoreDays: config.RETENTION_RESTORE_DAYS,
    rowsPerSecond: config.RETENTION_ROWS_PER_SECOND,
  }
  const broken = brokenByLimits(limits)
  if (broken.length === 0) return limits
  const lines = broken.map(({ rule, explanation }) => `  ${rule}: ${explanation}`)
  throw new ConfigError(
    `The settings break the retention contract (docs/retention.md); nothing was started:\n${lines.join('\n')}`,
  )
}
