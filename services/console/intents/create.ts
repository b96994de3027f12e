import { inTransaction, type Pool } from '../../../core/database.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import type { IntentPreview } from './contract.ts'

type Outcome = 'created' | 'exists' | 'no-revision' | 'other-content'

export type Created =
  | { readonly outcome: 'created'; readonly actionId: string }
  | { readonly outcome: Exclude<Outcome, 'created'> }

class NotCreated extends Error {
  override name = 'NotCreated'
  readonly outcome: Exclude<Outcome, 'created'>

  constructor(outcome: Exclude<Outcome, 'created'>) {
    super(outcome)
    this.outcome = outcome
  }
}

/**
 * Makes the intent and records who decided it and why, in one transaction: both or neither. The row's own
 * defaults say that an operator wrote it.
 */
export async function createIntent(
  source: Pool,
  { preview, envelope }: { readonly preview: IntentPreview; readonly envelope: Buffer },
  request: { readonly principal: string; readonly reason: string; readonly traceparent: string },
): Promise<Created> {
  const { noteId, revision, eventId, contentDigest, effect } = preview
  try {
    return await inTransaction(source, async (client): Promise<Created> => {
      const actionId = await recordRequested(client, {
        action: 'intents.create',
        target: `${noteId}:${revision}`,
        principal: request.principal,
        reason: request.reason,
        details: { eventId, contentDigest, envelopeSha256: preview.envelopeSha256, effect },
      })
      const { rows } = await client.query<{ outcome: Outcome }>(
        'SELECT outcome FROM create_intent($1, $2, $3, $4, $5, $6)',
        [noteId, revision, contentDigest, eventId, envelope, request.traceparent],
      )
      const outcome = rows[0]?.outcome
      if (outcome === undefined) throw new Error('create_intent answered nothing')
      if (outcome !== 'created') throw new NotCreated(outcome)
      await recordFinished(client, actionId, { status: 'done', result: { outcome, eventId } })
      return { outcome, actionId }
    })
  } catch (error) {
    if (error instanceof NotCreated) return { outcome: error.outcome }
    throw error
  }
}
