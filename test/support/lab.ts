import { inject } from 'vitest'
import type { Lab } from './lab-interface.ts'
import { NativeLab } from './native-lab.ts'

export type { Lab } from './lab-interface.ts'

declare module 'vitest' {
  interface ProvidedContext {
    labDir: string
  }
}

/** The lab that test/support/global-lab.ts started. */
export function useLab(): Lab {
  return new NativeLab(inject('labDir'))
}
