import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import type { Request, RequestHandler } from 'express'
import { readBody } from './body-limit.ts'
import { nestsDeeperThan } from './json-depth.ts'
import { Problem } from './problem.ts'

/** What these APIs take is one flat object. */
const MAX_DEPTH = 8

const mediaType: RequestHandler = (req, _res, next) => {
  const header = req.get('content-type')
  const type = header === undefined ? undefined : parseMediaType(header)
  const charset = type?.params.get('charset')?.toLowerCase() ?? 'utf-8'
  if (type?.essence !== 'application/json' || charset !== 'utf-8') {
    throw new Problem('unsupported-media-type', 'Send Content-Type: application/json, in UTF-8.')
  }
  if ((req.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
    throw new Problem('unsupported-media-type', 'Send the body uncompressed.')
  }
  next()
}

function parseMediaType(header: string): MIMEType | undefined {
  try {
    return new MIMEType(header)
  } catch {
    return undefined
  }
}

/** Admits a JSON body of at most `limitBytes`; `jsonOf` parses it. Answers 413, 415 or 400 else. */
export const jsonBody = (limitBytes: number): readonly RequestHandler[] => [mediaType, readBody(limitBytes)]

/**
 * The JSON value of the body. Bytes that are not UTF-8 are refused, not replaced. A number that is not
 * written as plain digits (or digits and .0, the same number to JSON Schema) becomes NaN, so that
 * 1.0000000000000000001 is refused and not rounded to 1.
 * Of members with the same name the last one counts, as JSON.parse has it.
 */
export function jsonOf(req: Request): unknown {
  const body: unknown = req.body
  if (!Buffer.isBuffer(body) || body.length === 0) {
    throw new Problem('malformed-request', 'The body is empty; send a JSON object.')
  }
  if (!isUtf8(body)) throw new Problem('malformed-request', 'The body is not valid UTF-8.')
  if (nestsDeeperThan(MAX_DEPTH, body)) {
    throw new Problem('malformed-request', 'The body is nested too deeply; send one flat JSON object.')
  }
  try {
    return JSON.parse(body.toString('utf8'), refuseRounded)
  } catch {
    throw new Problem('malformed-request', 'The body is not JSON.')
  }
}

const refuseRounded = (_name: string, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' && !/^-?[0-9]+(?:\.0+)?$/.test(context?.source ?? '') ? Number.NaN : value
