import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import { PROBLEMS, type ProblemCode, ProblemDetails } from './problem.ts'

/** A served OpenAPI 3.1 document: plain JSON. */
export type OpenApiDocument = ReturnType<typeof createDocument>

/** An answer with a JSON body. `headers` become required unless the schema says optional. */
export const jsonAnswer = (
  description: string,
  schema: z.ZodType,
  headers?: z.ZodObject,
): ZodOpenApiResponseObject => ({
  description,
  content: { 'application/json': { schema } },
  ...(headers && { headers }),
})

/** Seconds to wait before asking again. */
export const RetryAfterSeconds = z.int().min(1).max(86_400).meta({ description: 'Seconds.' })

/** The headers that come with every problem of a status. */
const PROBLEM_HEADERS: Readonly<Record<number, z.ZodObject>> = {
  405: z.object({ Allow: z.string().meta({ description: 'The methods this address takes.' }) }),
  429: z.object({ 'Retry-After': RetryAfterSeconds }),
  503: z.object({ 'Retry-After': RetryAfterSeconds }),
}

/** What the HTTP server refuses before an operation is found: every operation can be answered with these. */
const SERVER_PROBLEMS = ['malformed-request', 'request-timeout', 'headers-too-large'] as const

/**
 * Which problems an operation answers with besides those of the HTTP server, keyed by status; several codes
 * of one status share an entry.
 */
export function problemAnswers(
  ...codes: ProblemCode[]
): Record<`${4 | 5}${string}`, ZodOpenApiResponseObject> {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of new Set([...SERVER_PROBLEMS, ...codes])) {
    byStatus.set(PROBLEMS[code].status, [...(byStatus.get(PROBLEMS[code].status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `${code}: ${PROBLEMS[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: ProblemDetails } },
        ...(PROBLEM_HEADERS[status] && { headers: PROBLEM_HEADERS[status] }),
      },
    ]),
  )
}

/**
 * The document of one API. Made from the same zod schemas that validate requests, so the two cannot
 * differ; tests hold real answers against it.
 * @param bearer whether operations ask for a bearer token unless they say otherwise
 */
export function openApiDocument(
  info: ZodOpenApiObject['info'],
  paths: ZodOpenApiPathsObject,
  bearer: boolean,
): OpenApiDocument {
  return createDocument({
    openapi: '3.1.1',
    info,
    // Relative to where this document was fetched from: the API itself.
    servers: [{ url: '/' }],
    paths,
    ...(bearer && {
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    }),
  })
}
