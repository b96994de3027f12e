import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { REPOSITORY } from '../../lab/paths.ts'
import { verdictOf } from './verdict.ts'

/**
 * `npm run audit`: known vulnerabilities of every installed package. Exit 1 when there is one that
 * explained.json does not explain. A registry that cannot be asked is no finding: exit 0, saying so.
 */
const explained = z
  .record(z.url(), z.string().min(1))
  .parse(JSON.parse(readFileSync(new URL('explained.json', import.meta.url), 'utf8')))
const { stdout, stderr, error } = spawnSync('npm', ['audit', '--json'], {
  cwd: REPOSITORY,
  encoding: 'utf8',
  timeout: 60_000,
})
const verdict = verdictOf(stdout || stderr || String(error ?? ''), explained)
const say = (line: string) => process.stdout.write(`audit: ${line}\n`)
switch (verdict.status) {
  case 'clean':
    say('no known vulnerabilities')
    break
  case 'not-asked':
    say(`skipped, the registry could not be asked: ${verdict.reason}`)
    break
  case 'explained':
    for (const { package: name, title, url } of verdict.advisories)
      say(`${name}: ${title} (${url}); explained: ${explained[url]}`)
    break
  case 'vulnerable':
    for (const { package: name, severity, title, url } of verdict.advisories)
      say(`${name}: ${severity}: ${title} (${url})`)
    say('update the package, or say in test/audit/explained.json why it does not concern this product')
    process.exitCode = 1
}
