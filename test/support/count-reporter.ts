import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

/** For bin/test: writes "<passed> <failed>" to the file TEST_COUNTS names, at the end of the run. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const file = process.env.TEST_COUNTS
    if (!file) return
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: 'passed' | 'failed') => tests.filter((test) => test.result().state === state).length
    // A file that cannot be loaded has no tests.
    const broken = modules.filter(
      (module) => module.state() === 'failed' && module.errors().length > 0,
    ).length
    writeFileSync(file, `${count('passed')} ${count('failed') + broken + unhandledErrors.length}\n`)
  }
}
