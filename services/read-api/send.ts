import type { Request, Response } from 'express'
import { matchesIfNoneMatch } from '../../core/etag.ts'
import { READ_LIMITS } from './limits.ts'

/**
 * Caches may keep an answer for a moment and must then ask again with the ETag. No `no-cache`: one burst
 * on a popular note should cost one read; no longer: `max-age` adds to what a reader sees late.
 */
export const CACHE_CONTROL = `public, max-age=${READ_LIMITS.cacheMaxAgeSeconds}, must-revalidate`

/**
 * 200 with the JSON text, or 304 when If-None-Match names `etag`; HEAD gets the headers of either.
 * Not by express's send: it would decide about 304 a second time, by other rules.
 */
export function sendRepresentation(req: Request, res: Response, etag: string, text: () => string): void {
  res.set({ ETag: etag, 'Cache-Control': CACHE_CONTROL })
  if (matchesIfNoneMatch(req.get('if-none-match'), etag)) {
    res.status(304).end()
    return
  }
  const body = Buffer.from(text())
  res.status(200).type('application/json').set('Content-Length', String(body.length)).end(body)
}
