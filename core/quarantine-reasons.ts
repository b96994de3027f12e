import { UNDECODABLE_REASONS } from './envelope-decoder.ts'

/** Why a record can never be applied. Stable codes. */
export const QUARANTINE_REASONS = [
  ...UNDECODABLE_REASONS,
  /** The record's key is not the event's note: it may lie in the wrong partition, without order. */
  'key-mismatch',
  /** Header `id` is not the event's id: the ledger would name another event than was applied. */
  'event-id-mismatch',
  /** Another event has this note's revision, or this event id came with other content. */
  'conflict',
  /** PostgreSQL refuses its data, by SQLSTATE. */
  'rejected-by-database',
] as const
export type QuarantineReason = (typeof QUARANTINE_REASONS)[number]
