import { defineConfig } from 'vitest/config'

// Waits in tests are conditions with a generous limit; WAIT_SCALE stretches all of them on a slow machine.
const scale = Number(process.env.WAIT_SCALE ?? 1)
const real = { fileParallelism: false, testTimeout: 120_000 * scale, hookTimeout: 300_000 * scale }

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/global-lab.ts'],
          ...real,
        },
      },
      {
        test: {
          name: 'fuzz',
          include: ['test/fuzz/**/*.test.ts'],
          globalSetup: ['test/support/global-lab.ts'],
          ...real,
        },
      },
      {
        test: {
          name: 'pipeline',
          include: ['test/pipeline/**/*.test.ts'],
          globalSetup: ['test/support/global-lab.ts'],
          ...real,
        },
      },
      // What is lost with a part, and how it comes back: docs/restore.md.
      {
        test: {
          name: 'drills',
          include: ['test/drills/**/*.test.ts'],
          globalSetup: ['test/support/global-lab.ts'],
          ...real,
        },
      },
      // Has a lab of its own, and the machine to itself: bin/test runs it last.
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...real,
        },
      },
    ],
  },
})
