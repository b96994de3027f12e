import cliProgress from 'cli-progress'

export type Progress = {
  start(label: string, total: number): void
  step(): void
  stop(): void
}

const none: Progress = { start: () => undefined, step: () => undefined, stop: () => undefined }

/** A bar on stderr when that is a terminal; results on stdout stay clean either way. */
export function progressBar(isWanted: boolean): Progress {
  if (!isWanted || !process.stderr.isTTY) return none
  let bar: cliProgress.SingleBar | undefined
  return {
    start(label, total) {
      bar?.stop()
      bar = new cliProgress.SingleBar({
        stream: process.stderr,
        format: `${label} [{bar}] {value}/{total}  {percentage}%  {duration_formatted}, {eta_formatted} left`,
        hideCursor: true,
        etaBuffer: 200,
        fps: 10,
      })
      bar.start(total, 0)
    },
    step: () => bar?.increment(),
    stop() {
      bar?.stop()
      bar = undefined
    },
  }
}
