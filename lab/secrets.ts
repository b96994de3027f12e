import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { z } from 'zod'
import { writePrivateFile } from './files.ts'
import { PROJECTION_ROLE_NAMES, SOURCE_ROLE_NAMES } from './names.ts'
import { labPaths } from './paths.ts'

const Passwords = z.record(z.string(), z.string().min(16))

export type Secrets = {
  /** Password by role name, besides `source_admin` and `projection_admin` for the superusers. */
  readonly passwords: Readonly<Record<string, string>>
  readonly passwordsFile: string
  readonly jwksPath: string
  readonly privateKeyPath: string
}

/** Reads the lab's secrets, making on first use what is not there yet. Files are 0600. */
export async function ensureSecrets(labDir: string): Promise<Secrets> {
  const paths = labPaths(labDir)
  mkdirSync(paths.secrets, { recursive: true, mode: 0o700 })
  mkdirSync(paths.keys, { recursive: true })

  const passwordsFile = path.join(paths.secrets, 'passwords.json')
  const known = existsSync(passwordsFile)
    ? Passwords.parse(JSON.parse(readFileSync(passwordsFile, 'utf8')))
    : {}
  const names = ['source_admin', 'projection_admin', ...SOURCE_ROLE_NAMES, ...PROJECTION_ROLE_NAMES]
  const missing = names.filter((name) => !known[name])
  const passwords = {
    ...known,
    ...Object.fromEntries(missing.map((name) => [name, randomBytes(24).toString('base64url')])),
  }
  if (missing.length > 0) writePrivateFile(passwordsFile, `${JSON.stringify(passwords, null, 2)}\n`)

  const privateKeyPath = path.join(paths.keys, 'private.jwk.json')
  const jwksPath = path.join(paths.keys, 'jwks.json')
  if (!existsSync(privateKeyPath) || !existsSync(jwksPath)) {
    const pair = await generateKeyPair('ES256', { extractable: true })
    const publicJwk = await exportJWK(pair.publicKey)
    const marks = { kid: await calculateJwkThumbprint(publicJwk), alg: 'ES256', use: 'sig' }
    writePrivateFile(jwksPath, `${JSON.stringify({ keys: [{ ...publicJwk, ...marks }] }, null, 2)}\n`)
    writePrivateFile(
      privateKeyPath,
      `${JSON.stringify({ ...(await exportJWK(pair.privateKey)), ...marks }, null, 2)}\n`,
    )
  }
  return { passwords, passwordsFile, jwksPath, privateKeyPath }
}
