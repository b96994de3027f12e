import type { Canonical } from '../http/write-api.ts'

export type Step =
  | { readonly action: 'none'; readonly revision: number }
  | { readonly action: 'publish'; readonly revision: number }

/**
 * What a file needs: nothing when the canonical note has this content (by digest, so metadata counts too),
 * else the next revision. `digest` undefined: the next revision in any case.
 */
export function planFile(canonical: Canonical, digest: string | undefined): Step {
  if (canonical.status === 'absent') return { action: 'publish', revision: 1 }
  return canonical.digest === digest
    ? { action: 'none', revision: canonical.revision }
    : { action: 'publish', revision: canonical.revision + 1 }
}
