import type { Request, RequestHandler, Response } from 'express'
import { Problem, problemBody } from './problem.ts'

/** How long a client that is told 413 may go on sending before the connection is cut. */
const LINGER_MS = 1_000

/**
 * Reads the body into `req.body`, a Buffer. One that declares more than `limitBytes` is answered 413 without
 * being invited or read, one that turns out longer as soon as it does; then the connection ends.
 */
export const readBody =
  (limitBytes: number): RequestHandler =>
  (req, res, next) => {
    const isHeldBack = awaitsContinue(req)
    if (Number(req.get('content-length') ?? 0) > limitBytes) return refuse(req, res, limitBytes, isHeldBack)
    if (isHeldBack) res.writeContinue()
    const chunks: Buffer[] = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= limitBytes) chunks.push(chunk)
      else {
        stop()
        refuse(req, res, limitBytes, false)
      }
    }
    const onEnd = () => {
      stop()
      req.body = Buffer.concat(chunks)
      next()
    }
    const onError = () => {
      stop()
      next(new Problem('malformed-request', 'The body ended before its declared length.'))
    }
    const stop = () => req.off('data', onData).off('end', onEnd).off('error', onError)
    req.on('data', onData).on('end', onEnd).on('error', onError)
  }

/**
 * The whole answer is written at once, but ended only when the client has sent everything or the time is
 * over: a connection that is closed while bytes are under way is reset, and the answer can be lost by that.
 */
function refuse(req: Request, res: Response, limitBytes: number, isHeldBack: boolean): void {
  const problem = new Problem(
    'payload-too-large',
    `The body is larger than the ${limitBytes} bytes this address takes.`,
  )
  const body = problemBody(problem)
  res.status(problem.status).set({ 'Cache-Control': 'no-store', Connection: 'close' })
  res
    .set('Content-Type', 'application/problem+json; charset=utf-8')
    .set('Content-Length', String(Buffer.byteLength(body)))
  res.write(body)
  if (isHeldBack) {
    res.end()
    return
  }
  const cut = setTimeout(() => res.end(), LINGER_MS)
  res.once('close', () => clearTimeout(cut))
  req.once('end', () => res.end())
  req.on('error', () => res.destroy())
  req.resume()
}

/** The client holds its body back until 100 Continue (RFC 9110, 10.1.1; HTTP/1.0 knows none). */
const awaitsContinue = (req: Request): boolean =>
  req.httpVersion === '1.1' && /(?:^|\W)100-continue(?:$|\W)/i.test(req.get('expect') ?? '')
