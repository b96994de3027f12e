import type { z } from 'zod'
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

/** Which problems an operation answers with, keyed by status; several codes of one status share an entry. */
export function problemAnswers(
  ...codes: ProblemCode[]
): Record<`${4 | 5}${string}`, ZodOpenApiResponseObject> {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of codes) {
    byStatus.set(PROBLEMS[code].status, [...(byStatus.get(PROBLEMS[code].status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `${code}: ${PROBLEMS[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: ProblemDetails } },
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
    paths,
    ...(bearer && {
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    }),
  })
}
