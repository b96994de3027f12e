import { CliFailure } from '../failure.ts'
import { startGit, watchGit } from './git.ts'

export type Blob =
  | { readonly status: 'read'; readonly bytes: Buffer }
  | { readonly status: 'too-large'; readonly size: number }

type Waiting = {
  readonly blob: string
  readonly resolve: (blob: Blob) => void
  readonly reject: (error: unknown) => void
}

/**
 * File contents by blob id from one `git cat-file --batch`: a process per file would dominate the import.
 * Answers come in the order of the questions. A blob above the limit is passed over without being kept.
 */
export class BlobReader implements AsyncDisposable {
  readonly #child: ReturnType<typeof startGit>
  readonly #ended: Promise<{ code: number | null; said: string }>
  readonly #waiting: Waiting[] = []
  readonly #limitBytes: number
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** Set while the content of the first waiting blob arrives; `missing` counts its trailing newline. */
  #content: { readonly size: number; missing: number } | undefined

  constructor(folder: string, limitBytes: number) {
    this.#limitBytes = limitBytes
    this.#child = startGit(folder, ['cat-file', '--batch'])
    this.#ended = watchGit(this.#child).ended
    this.#child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#ended.then(
      ({ code, said }) => this.#failAll(`git cat-file ended (${said || `exit code ${code}`})`),
      (error) => this.#failAll(error.message),
    )
  }

  read(blob: string): Promise<Blob> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ blob, resolve, reject })
      this.#child.stdin.write(`${blob}\n`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    await this.#ended.catch(() => undefined)
  }

  #receive(chunk: Buffer): void {
    let data = chunk
    while (data.length > 0) {
      data = this.#content ? this.#takeContent(this.#content, data) : this.#takeHeader(data)
    }
  }

  /** `<id> SP <type> SP <size> LF`, or `<id> SP missing LF`. */
  #takeHeader(data: Buffer): Buffer {
    const end = data.indexOf(10)
    if (end < 0) {
      this.#keep(data)
      return Buffer.alloc(0)
    }
    this.#keep(data.subarray(0, end))
    const header = this.#take().toString()
    const size = /^[0-9a-f]+ blob (\d+)$/.exec(header)?.[1]
    if (size === undefined) {
      this.#waiting
        .shift()
        ?.reject(
          new CliFailure(
            'failed',
            `git does not have the content it names (${header}). Is the clone partial? Fetch it whole.`,
          ),
        )
    } else this.#content = { size: Number(size), missing: Number(size) + 1 }
    return data.subarray(end + 1)
  }

  #takeContent(content: { readonly size: number; missing: number }, data: Buffer): Buffer {
    const part = data.subarray(0, content.missing)
    content.missing -= part.length
    if (content.size <= this.#limitBytes) this.#keep(part)
    if (content.missing === 0) {
      this.#content = undefined
      const { size } = content
      const bytes = this.#take()
      this.#waiting
        .shift()
        ?.resolve(
          size > this.#limitBytes
            ? { status: 'too-large', size }
            : { status: 'read', bytes: bytes.subarray(0, size) },
        )
    }
    return data.subarray(part.length)
  }

  #keep(part: Buffer): void {
    this.#pending.push(part)
    this.#pendingBytes += part.length
  }

  #take(): Buffer {
    const whole = Buffer.concat(this.#pending, this.#pendingBytes)
    this.#pending = []
    this.#pendingBytes = 0
    return whole
  }

  #failAll(why: string): void {
    for (const { reject, blob } of this.#waiting.splice(0)) {
      reject(new CliFailure('failed', `The content ${blob} could not be read: ${why}.`))
    }
  }
}
