import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JSON_TEXT_BYTES } from '../../../services/write-api/json-body.ts'
import { useLab } from '../../support/lab.ts'
import { startWriteApi, type WriteApi } from './instance.ts'
import { validCommand } from './requests.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

describe('below HTTP', () => {
  const { hostname, port } = { hostname: '127.0.0.1', port: () => Number(new URL(api.url).port) }
  /** Sends bytes as they are, and resolves with everything until the server closes. */
  const bytes = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let received = ''
      const socket = net.connect(port(), hostname, () => socket.write(text))
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.on('close', () => resolve(received))
      socket.on('error', reject)
    })

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a space in the address', 'GET /notes/a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a bare CR in a header', 'GET / HTTP/1.1\r\nHost: x\r\ntraceparent: a\rSet-Cookie: b\r\n\r\n', 400],
    [
      'two lengths',
      'POST /notes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ],
    [
      'length and chunks',
      'POST /notes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na',
      400,
    ],
    ['no Host', 'GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two Hosts', 'GET /readyz HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', 400],
    ['headers beyond the limit', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ])('%s is a problem too', async (_what, text, status) => {
    const [head = '', body = ''] = (await bytes(text)).split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toMatch(/content-type: application\/problem\+json/i)
    expect(JSON.parse(body)).toMatchObject({ status, code: expect.any(String) })
  })

  test('rubbish after a whole request is never answered in place of it', async () => {
    const received = await bytes('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n')
    if (received !== '') expect(received).toMatch(/^HTTP\/1.1 200 /)
  })

  test('an unknown expectation is ignored, not refused without a problem', async () => {
    expect((await api.raw('/readyz', { headers: { expect: 'the-moon' } })).status).toBe(200)
  })
})

describe('a body beyond the limit', () => {
  /** The head of a save; resolves with all that comes back while no more than `text` is ever sent. */
  const received = async (headers: string, body = '') => {
    const token = await lab.token({ roles: ['editor'] })
    return new Promise<string>((resolve, reject) => {
      let text = ''
      const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1', () =>
        socket.write(
          `POST /notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n${headers}\r\n\r\n${body}`,
        ),
      )
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
      socket.on('error', reject)
    })
  }
  const expectRefused = (text: string) => {
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1.1 413 /)
    expect(head).toMatch(/connection: close/i)
    expect(JSON.parse(body)).toMatchObject({ status: 413, code: 'payload-too-large' })
  }

  test('that is declared is refused before a byte of it came, and the connection ends', async () => {
    expectRefused(await received(`Content-Length: ${JSON_TEXT_BYTES + 1}`))
  })

  test('is not invited by 100 Continue; one within the limit is', async () => {
    expectRefused(await received(`Expect: 100-continue\r\nContent-Length: ${JSON_TEXT_BYTES + 1}`))
    const within = await received('Expect: 100-continue\r\nConnection: close\r\nContent-Length: 2', '{}')
    expect(within).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 422 /)
  })

  test('in chunks is refused once it passes the limit, though its end never comes', async () => {
    const bytes = JSON_TEXT_BYTES + 1
    expectRefused(
      await received('Transfer-Encoding: chunked', `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}`),
    )
  })
})

describe('CR and LF', () => {
  test('in ids, keys and headers forge no log line and no header', async () => {
    const inserted = '\r\n{"level":"info","forged":true}'
    await api.save({ ...validCommand(), noteId: `a${inserted}` })
    await api.save({ ...validCommand(), title: `t${inserted}` })
    await api.raw(`/notes/a${encodeURIComponent(inserted)}`)
    const answer = await api.raw('/notes/a%0d%0aforged:1')
    expect(answer.headers.get('forged')).toBeNull()
    const lines = api.logLines.map((line) => JSON.parse(line))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.forged)).toEqual([])
  })
})
