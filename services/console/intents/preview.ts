import { createHash } from 'node:crypto'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { eventIdOfIntent } from '../../../core/event-id.ts'
import { rememberedSchemaId } from '../../../core/known-schemas.ts'
import { eventTypeOf } from '../../../core/note.ts'
import type { ConsoleParts } from '../parts.ts'
import { EFFECTS, type IntentPreview, REFUSALS } from './contract.ts'
import { effectOf, type IntentFacts, refusalOf } from './decide.ts'
import { readCanonical, readProjected } from './read.ts'

export type IntentParts = Pick<ConsoleParts, 'source' | 'projection' | 'intents'>

/** What would be published, and its bytes; undefined where it is refused. */
export type Previewed = { readonly preview: IntentPreview; readonly envelope: Buffer | undefined }

/**
 * Exactly what making the intent would publish. The same facts give the same bytes, so that a preview can be
 * confirmed by its digest.
 * @returns undefined: the source has no such revision. @throws a database's error when one is away
 */
export async function previewIntent(
  { source, projection, intents }: IntentParts,
  noteId: string,
  revision: number,
): Promise<Previewed | undefined> {
  const canonical = await readCanonical(source, noteId, revision)
  if (!canonical) return undefined
  const { content, contentDigest, occurredAt } = canonical
  const projected = await readProjected(projection, noteId, revision)
  const schemaId = await rememberedSchemaId(source, intents.schemaSubject)
  const eventId = eventIdOfIntent(noteId, revision, contentDigest)
  const facts: IntentFacts = { ...canonical, ...projected, schemaId, eventId, revision }
  const refused = refusalOf(facts)
  const eventType = eventTypeOf(content.visibility)
  const envelope =
    schemaId === undefined || refused === 'invalid-content' || refused === 'erased'
      ? undefined
      : await new EnvelopeEncoder(schemaId).encode({
          ...content,
          eventId,
          eventType,
          noteId,
          revision,
          occurredAt: occurredAt.getTime(),
        })
  const effect = effectOf(facts)
  const preview: IntentPreview = {
    noteId,
    revision,
    eventId,
    eventType,
    content,
    contentDigest,
    occurredAt: occurredAt.toISOString(),
    schemaId: schemaId ?? null,
    envelopeBytes: envelope?.length ?? null,
    envelopeSha256: envelope ? createHash('sha256').update(envelope).digest('hex') : null,
    writtenBy: canonical.writtenBy,
    newestRevision: canonical.newestRevision,
    visibleRevision: projected.visibleRevision,
    alsoWithoutIntent: canonical.alsoWithoutIntent,
    effect,
    explanation: refused ? REFUSALS[refused] : EFFECTS[effect],
    refused: refused ?? null,
  }
  return { preview, envelope: refused ? undefined : envelope }
}
