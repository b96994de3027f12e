/** One line of `http_request_duration_seconds_count`: how often a route was answered with a status. */
export type AnswerCount = {
  readonly method: string
  /** Template, such as /notes/:noteId. */
  readonly route: string
  readonly status: number
  readonly count: number
}

const LINE = /^http_request_duration_seconds_count\{([^}]*)\} (\d+)$/gm

/** What an API says in its own metrics about all it has answered. */
export async function answersOf(url: string): Promise<AnswerCount[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return [...text.matchAll(LINE)].map(([, labels = '', count]) => {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? ''
    return {
      method: label('method'),
      route: label('route'),
      status: Number(label('status')),
      count: Number(count),
    }
  })
}

/** The operations of an OpenAPI document as `METHOD /route/:parameter`. */
export async function operationsOf(url: string): Promise<string[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`),
  )
}
