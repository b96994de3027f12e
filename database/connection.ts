import pg from 'pg'

/** The same server as `url`, with another role and, where given, another database. */
export function withRole(
  url: string,
  role: { readonly name: string; readonly password: string },
  database?: string,
): string {
  const changed = new URL(url)
  changed.username = encodeURIComponent(role.name)
  changed.password = encodeURIComponent(role.password)
  if (database !== undefined) changed.pathname = `/${database}`
  return changed.href
}

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}

export const databaseOf = (url: string): string => decodeURIComponent(new URL(url).pathname.slice(1))

/** Connects, runs `work`, disconnects. */
export async function withClient<T>(
  url: string,
  applicationName: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {}) // The running query rejects with it as well.
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
