import { z } from 'zod'

/** Limits of one note. The same numbers stand in database/source as CHECKs and in docs/limits.md. */
export const LIMITS = {
  titleChars: 1000,
  urlBytes: 2048,
  bodyBytes: 524_288,
  /** Below Kafka's max.message.bytes and the connector's max.request.size, with room for key and headers. */
  envelopeBytes: 900_000,
  maxRevision: 2_147_483_647,
  idempotencyKeyChars: 255,
} as const

export const NOTE_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
export const NOTE_TYPE_PATTERN = /^[a-z][a-z0-9-]{0,31}$/

/** For the OpenAPI document: what JSON Schema can say of the rules that only code can check in full. */
const documented = (keywords: { pattern: string; maxLength: number }) => ({
  override: ({ jsonSchema }: { jsonSchema: object }) => void Object.assign(jsonSchema, keywords),
})
const NO_NUL = '^[^\\u0000]*$'

/** Text that PostgreSQL and UTF-8 hold unchanged: no U+0000 and no lone surrogate, which would be replaced. */
const storableText = z.string().refine((text) => !text.includes('\0') && text.isWellFormed(), {
  message: 'must not contain U+0000 or a lone surrogate',
})

export const NoteId = z
  .string()
  .regex(NOTE_ID_PATTERN, 'must match ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$')
  .meta({ description: 'The note. Also the Kafka record key.', example: 'release-notes-4.2' })

export const Revision = z
  .int({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a whole number') })
  .min(1, 'must be at least 1')
  .max(LIMITS.maxRevision, `must be at most ${LIMITS.maxRevision}`)
  .meta({ description: 'The revision: 1, 2, 3 … of one note, contiguous, never reused.', example: 1 })

export const Visibility = z.enum(['public', 'withdrawn'])
export type Visibility = z.infer<typeof Visibility>

const hasCredentials = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && (url.username !== '' || url.password !== '')
}

const absoluteHttpUrl = storableText
  .refine((text) => Buffer.byteLength(text) <= LIMITS.urlBytes, `must be at most ${LIMITS.urlBytes} bytes`)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an absolute http or https URL')
  // The URL parser drops or escapes these silently; a reader of the stored text may take them differently.
  .refine((text) => !/[\s\p{Cc}]/u.test(text), 'must not contain white space or control characters')
  .refine((text) => !hasCredentials(text), 'must not contain a user name or password')
  .meta({
    ...documented({
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\u0000-\\u001f\\u007f-\\u009f]+$',
      maxLength: LIMITS.urlBytes,
    }),
  })

/** What readers can see of a revision. */
export const NoteContent = z.strictObject({
  title: storableText
    .min(1)
    .refine(
      (text) => [...text].length <= LIMITS.titleChars,
      `must be at most ${LIMITS.titleChars} characters`,
    )
    .meta({
      description: `Plain text, at most ${LIMITS.titleChars} characters.`,
      example: 'Release notes 4.2',
      ...documented({ pattern: NO_NUL, maxLength: LIMITS.titleChars }),
    }),
  url: absoluteHttpUrl.nullable().default(null).meta({
    description:
      'Absolute http or https address the note is about, without white space, control characters or credentials.',
    example: 'https://example.org/4.2',
  }),
  type: z
    .string()
    .regex(NOTE_TYPE_PATTERN, 'must match ^[a-z][a-z0-9-]{0,31}$')
    .meta({ description: 'A short token.', example: 'article' }),
  body: storableText
    .refine(
      (text) => Buffer.byteLength(text) <= LIMITS.bodyBytes,
      `must be at most ${LIMITS.bodyBytes} bytes of UTF-8`,
    )
    .meta({
      description: `The text, at most ${LIMITS.bodyBytes} bytes of UTF-8.`,
      example: '# 4.2\n\nFaster.',
      ...documented({ pattern: NO_NUL, maxLength: LIMITS.bodyBytes }),
    }),
  visibility: Visibility.default('public').meta({
    description: 'withdrawn: from this revision on the public read API answers 410.',
  }),
})
export type NoteContent = z.infer<typeof NoteContent>

/** One REST write: it names the revision it creates, which must be the current one + 1. */
export const SaveNoteCommand = z.strictObject({ noteId: NoteId, revision: Revision, ...NoteContent.shape })
export type SaveNoteCommand = z.infer<typeof SaveNoteCommand>

export const EventType = z.enum(['NoteRevised', 'NoteWithdrawn'])
export type EventType = z.infer<typeof EventType>

/** The fact that is published: what the envelope holds. `occurredAt` is in milliseconds since 1970 UTC. */
export type NoteEvent = {
  readonly eventId: string
  readonly eventType: EventType
  readonly noteId: string
  readonly revision: number
  readonly title: string
  readonly url: string | null
  readonly type: string
  readonly body: string
  readonly visibility: Visibility
  readonly occurredAt: number
}

export const eventTypeOf = (visibility: Visibility): EventType =>
  visibility === 'withdrawn' ? 'NoteWithdrawn' : 'NoteRevised'

/** Allowed delays in milliseconds, with the part that owns each (design: relay, projector, read side). */
export const ALLOWED_DELAY_MS = {
  commitToBroker: 5_000,
  brokerToCatalog: 5_000,
  commitToVisible: 10_000,
} as const
