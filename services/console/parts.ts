import type { Tracer } from '@opentelemetry/api'
import type { RequestHandler } from 'express'
import type { Authenticate } from '../../core/auth.ts'
import type { Pool } from '../../core/database.ts'
import type { TopicFacts } from '../../core/kafka/topic-facts.ts'
import type { Logger } from '../../core/log.ts'
import type { Registry } from '../../core/metrics.ts'
import type { RetentionLimits } from '../../core/retention.ts'
import type { PublicationParts } from './publications/read.ts'
import type { RebuildRunner } from './rebuild/runner.ts'
import type { Verifications } from './verify/runs.ts'

/** What the parts of the operator API work with; made in main.ts. A pool connects when it is first used. */
export type ConsoleParts = {
  readonly logger: Logger
  readonly metrics: Registry
  readonly tracer?: Tracer | undefined
  readonly authenticate: Authenticate
  readonly requestsPerSecond: number
  /** As the operator: reads everything, writes operator_actions and what its grants name. */
  readonly source: Pool
  readonly projection: Pool
  /** As the verifier: reads both sides and nothing else. */
  readonly verifySource: Pool
  readonly verifyProjection: Pool
  readonly verifications: Verifications
  /** Read with a role that may only read, and given up soon. */
  readonly publications: PublicationParts
  /** As the role that may make the replication slot anew. */
  readonly recoverSource: Pool
  /** Told that a recovery of the relay was begun. */
  readonly onRecoveryBegun: () => void
  /** Subject of the event schema under which an intent made by hand is encoded. */
  readonly intents: { readonly schemaSubject: string }
  /** The numbers of the retention contract. */
  readonly retention: RetentionLimits
  /** Told that a run of retention was begun. */
  readonly onRetentionBegun: () => void
  /** Told that a replay was asked for. */
  readonly onReplayBegun: () => void
  readonly erasures: {
    /** Of the event schema under which a tombstone is written. */
    readonly schemaSubject: string
    /** Told that an erasure was begun. */
    readonly onBegun: () => void
  }
  /** Does what rebuilds need in the background. */
  readonly rebuilds: RebuildRunner
  /** What the topic holds now. */
  readonly topic: TopicFacts
  readonly kafka: {
    readonly brokers: readonly string[]
    readonly topic: string
    /** Start of the projector's consumer group names. */
    readonly groupPrefix: string
    /** One connection for all that ask about the topic; closed in main.ts. */
    readonly facts: TopicFacts
  }
  /** Public read API, as readers reach it: what they see is asked there. */
  readonly readApiUrl: string
  readonly relay: { readonly connectUrl: string; readonly connector: string; readonly slotName: string }
}

/** First handlers of every route: the role operator, then its rate limit. */
export type Admit = readonly RequestHandler[]
