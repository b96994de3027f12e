import { z } from 'zod'

/** What `npm audit --json` prints about packages with known vulnerabilities. */
const Found = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      // A string names another package through which this one is concerned; it is listed itself.
      via: z.array(z.union([z.string(), z.object({ url: z.string(), title: z.string() })])),
    }),
  ),
})

/** And when it could not ask. */
const NotAsked = z.object({ message: z.string() })

export type Advisory = {
  readonly package: string
  readonly severity: string
  readonly title: string
  readonly url: string
}

export type Verdict =
  | { readonly status: 'clean' }
  /** Every advisory found has a reason in explained.json. */
  | { readonly status: 'explained'; readonly advisories: readonly Advisory[] }
  | { readonly status: 'vulnerable'; readonly advisories: readonly Advisory[] }
  /** Nothing is known: the registry could not be asked. */
  | { readonly status: 'not-asked'; readonly reason: string }

/**
 * @param output of `npm audit --json`
 * @param explained address of an advisory to the reason why it does not concern this product
 */
export function verdictOf(output: string, explained: Readonly<Record<string, string>>): Verdict {
  const json = parse(output)
  const found = Found.safeParse(json)
  if (!found.success) {
    const { data } = NotAsked.safeParse(json)
    return { status: 'not-asked', reason: data?.message ?? (output.slice(0, 300).trim() || 'no output') }
  }
  const advisories = Object.entries(found.data.vulnerabilities).flatMap(([name, { severity, via }]) =>
    via.flatMap((cause) =>
      typeof cause === 'string' ? [] : [{ package: name, severity, title: cause.title, url: cause.url }],
    ),
  )
  if (advisories.length === 0) return { status: 'clean' }
  const open = advisories.filter(({ url }) => explained[url] === undefined)
  return open.length > 0 ? { status: 'vulnerable', advisories: open } : { status: 'explained', advisories }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
