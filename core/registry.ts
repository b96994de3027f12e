import { z } from 'zod'

/** The registry did not answer, or not with sense: wait and ask again, nothing can be concluded. */
export class RegistryUnavailable extends Error {
  override name = 'RegistryUnavailable'
}

export type RegistryLookup<T> = { readonly found: true; readonly value: T } | { readonly found: false }

const SchemaAnswer = z.object({ schema: z.string() })
const IdAnswer = z.object({ id: z.int() })
const SubjectVersions = z.array(z.object({ subject: z.string(), version: z.int() }))
const Versions = z.array(z.int())
const CompatibilityAnswer = z.object({ compatibilityLevel: z.string() })

const REQUEST_LIMIT_MS = 3_000

/**
 * The few look-ups of the Confluent API that must be bounded in time and must tell "not there" from
 * "away"; the client of @kafkajs/confluent-schema-registry has no timeout. Registering and encoding go
 * through that library.
 */
export class RegistryClient {
  readonly #url: string

  constructor(url: string) {
    this.#url = url.replace(/\/$/, '')
  }

  async #ask<T>(path: string, shape: z.ZodType<T>, init?: RequestInit): Promise<RegistryLookup<T>> {
    try {
      const response = await fetch(`${this.#url}${path}`, {
        ...init,
        headers: { 'Content-Type': 'application/vnd.schemaregistry.v1+json' },
        signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
      })
      if (response.status === 404) {
        await response.arrayBuffer()
        return { found: false }
      }
      if (!response.ok) throw new Error(`HTTP ${response.status}`)
      return { found: true, value: shape.parse(await response.json()) }
    } catch (error) {
      throw new RegistryUnavailable(
        `The schema registry did not answer ${path}: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    }
  }

  /** The schema text registered under a global id. */
  async schemaById(id: number): Promise<RegistryLookup<string>> {
    const answer = await this.#ask(`/schemas/ids/${id}`, SchemaAnswer)
    return answer.found ? { found: true, value: answer.value.schema } : answer
  }

  /** The id under which exactly this schema is registered for the subject. */
  async idOf(subject: string, schema: string): Promise<RegistryLookup<number>> {
    const answer = await this.#ask(`/subjects/${encodeURIComponent(subject)}`, IdAnswer, {
      method: 'POST',
      body: JSON.stringify({ schema }),
    })
    return answer.found ? { found: true, value: answer.value.id } : answer
  }

  /** The subjects that use a global id. */
  async subjectsOf(id: number): Promise<readonly string[]> {
    const answer = await this.#ask(`/schemas/ids/${id}/versions`, SubjectVersions)
    return answer.found ? answer.value.map((item) => item.subject) : []
  }

  /** Does the subject exist with at least one version? A registry that lost its data answers no. */
  async hasSubject(subject: string): Promise<boolean> {
    const answer = await this.#ask(`/subjects/${encodeURIComponent(subject)}/versions`, Versions)
    return answer.found && answer.value.length > 0
  }

  /** The compatibility rule set for this very subject. */
  async compatibilityOf(subject: string): Promise<RegistryLookup<string>> {
    const answer = await this.#ask(`/config/${encodeURIComponent(subject)}`, CompatibilityAnswer)
    return answer.found ? { found: true, value: answer.value.compatibilityLevel } : answer
  }

  /** Sets it. Some registries do not know a subject before its first version: then nothing is set. */
  async setCompatibility(subject: string, level: string): Promise<void> {
    await this.#ask(`/config/${encodeURIComponent(subject)}`, z.unknown(), {
      method: 'PUT',
      body: JSON.stringify({ compatibility: level }),
    })
  }
}
