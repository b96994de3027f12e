import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FormatsPlugin } from 'ajv-formats'
import formats from 'ajv-formats'

/** One real answer, as a test received it. */
export type Answer = {
  readonly method: string
  /** With or without a query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  /** The body as text; '' when there is none. */
  readonly text: string
}

type Json = Record<string, unknown>
const at = (value: unknown, key: string): Json | undefined =>
  (value as Json | undefined)?.[key] as Json | undefined
const pointer = (...keys: string[]) =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')

/**
 * Holds answers against a served OpenAPI 3.1 document. The returned function throws, naming the
 * difference, when path, method, status, content type, a declared header or the body is not as documented.
 */
export function documentedBy(document: Json): (answer: Answer) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ;(formats as unknown as FormatsPlugin)(ajv)
  ajv.addSchema({ ...document, $id: 'https://notes.invalid/openapi' })
  const templates = Object.keys(at(document, 'paths') ?? {}).map((template) => ({
    template,
    matches: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  }))

  const validate = (reference: string, value: unknown, what: string) => {
    const check = ajv.getSchema(`https://notes.invalid/openapi#${reference}`)
    if (!check) throw new Error(`no schema at ${reference}`)
    if (!check(value)) throw new Error(`${what}: ${ajv.errorsText(check.errors)}`)
  }

  return (answer) => {
    const what = `${answer.method} ${answer.path} -> ${answer.status}`
    const path = new URL(answer.path, 'http://x').pathname
    const template = templates.find(({ matches }) => matches.test(path))?.template
    if (!template) throw new Error(`${what}: no such path in the document`)
    const method = answer.method === 'HEAD' ? 'get' : answer.method.toLowerCase()
    const response = at(at(at(at(document, 'paths'), template), method)?.responses, String(answer.status))
    if (!response) throw new Error(`${what}: this status is not documented`)
    const base = ['paths', template, method, 'responses', String(answer.status)]

    for (const [name, header] of Object.entries(at(response, 'headers') ?? {})) {
      const value = answer.headers.get(name)
      if (value !== null) {
        const asNumber = at(header, 'schema')?.type === 'integer' ? Number(value) : value
        validate(pointer(...base, 'headers', name, 'schema'), asNumber, `${what}: header ${name}`)
      } else if (at({ header }, 'header')?.required) {
        throw new Error(`${what}: the documented header ${name} is missing`)
      }
    }

    const contentType = answer.headers.get('content-type')?.split(';')[0]?.trim()
    const content = at(response, 'content')
    if (!content) {
      if (answer.text !== '') throw new Error(`${what}: a body, but none is documented`)
    } else if (answer.method !== 'HEAD') {
      if (!contentType || !content[contentType]) throw new Error(`${what}: content type ${contentType}`)
      validate(pointer(...base, 'content', contentType, 'schema'), JSON.parse(answer.text), `${what}: body`)
    }
  }
}
