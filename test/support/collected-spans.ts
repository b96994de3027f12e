type Values = Record<string, string>

/** A span as a collector received it. */
export type TracedSpan = {
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has none. */
  readonly parentId: string
  readonly name: string
  readonly kind: string
  readonly isError: boolean
  readonly attributes: Values
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

type Open = { -readonly [K in keyof TracedSpan]: TracedSpan[K] } & {
  links: { traceId: string; spanId: string }[]
}

/** Reads spans out of the lines that Rotel prints with `--debug-log traces --debug-log-verbosity detailed`. */
export class SpanReader {
  readonly spans: TracedSpan[] = []
  #resource: Values = {}
  #into: Values | undefined
  #span: Open | undefined
  #link: { traceId: string; spanId: string } | undefined

  line(text: string): void {
    const line = text.trim()
    const attribute = /^-> ([^:]+(?:\.[^:]+)*): (?:Str|Int|Bool|Double)\((.*)\)$/.exec(line)
    if (attribute) {
      if (this.#into) this.#into[attribute[1] ?? ''] = attribute[2] ?? ''
      return
    }
    if (line.startsWith('ResourceSpans #')) this.#resource = {}
    else if (line.startsWith('Resource attributes:')) this.#into = this.#resource
    else if (line.startsWith('ScopeSpans #')) this.#into = undefined
    else if (/^Span #\d+$/.test(line)) this.#begin()
    else if (this.#span) this.#member(this.#span, line)
  }

  #begin(): void {
    this.#link = undefined
    this.#span = {
      service: this.#resource['service.name'] ?? '',
      ...{ traceId: '', spanId: '', parentId: '', name: '', kind: '' },
      isError: false,
      attributes: {},
      links: [],
    }
    this.#into = undefined
    this.spans.push(this.#span)
  }

  #member(span: Open, line: string): void {
    const [, name = '', value = ''] = /^(?:-> )?([^:]+?)\s*:\s*(.*)$/.exec(line) ?? []
    if (line.startsWith('SpanLink #')) {
      this.#link = { traceId: '', spanId: '' }
      span.links.push(this.#link)
      this.#into = undefined
    } else if (line === 'Attributes:') this.#into = span.attributes
    else if (this.#link && name === 'Trace ID') this.#link.traceId = value
    else if (this.#link && name === 'ID') this.#link.spanId = value
    else if (name === 'Trace ID') span.traceId = value
    else if (name === 'Parent ID') span.parentId = value
    else if (name === 'ID') span.spanId = value
    else if (name === 'Name') span.name = value
    else if (name === 'Kind') span.kind = value.replace('SPAN_KIND_', '')
    else if (name === 'Status code') span.isError = value.endsWith('ERROR')
  }
}
