import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../core/note.ts'
import { useLab } from '../../support/lab.ts'
import { startWriteApi, type WriteApi } from './instance.ts'
import { validCommand } from './requests.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  // As the lab runs it; else the young generation alone may grow by 64 MB.
  api = await startWriteApi(lab, {}, ['--max-semi-space-size=2'])
})
afterAll(() => api.end('SIGTERM'))

describe('size', () => {
  test('the largest allowed body of 4-byte characters is taken; one more is refused', async () => {
    const note = validCommand()
    const most = '😀'.repeat(LIMITS.bodyBytes / 4)
    expect((await api.save({ ...note, title: '😀'.repeat(LIMITS.titleChars), body: most })).status).toBe(202)
    expect((await api.send(`/notes/${note.noteId}`)).json.body).toBe(most)
    expect((await api.save({ ...validCommand(), body: `${most}a` })).status).toBe(422)
  })

  test('the largest allowed body of characters that JSON escapes with one backslash is taken', async () => {
    expect((await api.save({ ...validCommand(), body: '\n"'.repeat(LIMITS.bodyBytes / 2) })).status).toBe(202)
  })

  test('too large is 413, too deep 400, compressed 415; the memory of the process stays flat', async () => {
    const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'))?.[1])
    const before = peakKb()
    const large = Buffer.alloc(50_000_000, 0x61)
    const deep = (depth: number) => `{"noteId":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const bomb = gzipSync(Buffer.alloc(100_000_000, 0x20))
    for (let round = 0; round < 3; round++) {
      const over = `{"body":"${'x'.repeat(2 * LIMITS.bodyBytes + 65_536)}"}`
      expect((await api.save(validCommand(), { body: over })).status).toBe(413)
      expect((await api.save(validCommand(), { body: large })).status).toBe(413)
      const chunked = { 'transfer-encoding': 'chunked' }
      expect((await api.save(validCommand(), { body: large, headers: chunked })).status).toBe(413)
      expect((await api.save(validCommand(), { body: deep(10_000) })).status).toBe(400)
      expect((await api.save(validCommand(), { body: deep(500_000) })).status).toBe(400)
      for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'rubbish']) {
        const answer = await api.save(validCommand(), {
          body: bomb,
          headers: { 'content-encoding': encoding },
        })
        expect(answer.status).toBe(415)
      }
    }
    expect(peakKb() - before).toBeLessThan(64_000)
  })
})
