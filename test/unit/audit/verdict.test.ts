import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { verdictOf } from '../../audit/verdict.ts'

type Locked = { integrity?: string; hasInstallScript?: boolean; os?: string[]; cpu?: string[] }
const ADVISORY = 'https://github.com/advisories/GHSA-xxxx'
const report = (vulnerabilities: object) => JSON.stringify({ auditReportVersion: 2, vulnerabilities })
const concerned = report({
  deep: { name: 'deep', severity: 'high', via: [{ source: 1, title: 'Reads too far', url: ADVISORY }] },
  near: { name: 'near', severity: 'high', via: ['deep'] },
})

describe('what npm audit says', () => {
  test('no vulnerabilities: clean', () => {
    expect(verdictOf(report({}), {})).toEqual({ status: 'clean' })
  })

  test('one is named once, with its advisory, whoever depends on it', () => {
    expect(verdictOf(concerned, {})).toEqual({
      status: 'vulnerable',
      advisories: [{ package: 'deep', severity: 'high', title: 'Reads too far', url: ADVISORY }],
    })
  })

  test('one with a reason is explained; a reason for another explains nothing', () => {
    expect(verdictOf(concerned, { [ADVISORY]: 'Not reached.' }).status).toBe('explained')
    expect(verdictOf(concerned, { 'https://other.example': 'Not reached.' }).status).toBe('vulnerable')
  })

  test.each([
    ['an endpoint that refuses', '{"message":"405 Method Not Allowed","statusCode":405}', /405/],
    ['a registry that is away', '{"message":"request failed, reason: getaddrinfo ENOTFOUND"}', /ENOTFOUND/],
    ['something else than JSON', 'npm: not found', /not found/],
    ['nothing', '', /no output/],
  ])('%s is no verdict about packages', (_what, output, reason) => {
    expect(verdictOf(output, {})).toEqual({ status: 'not-asked', reason: expect.stringMatching(reason) })
  })
})

describe('package-lock.json, which needs no registry to be checked', () => {
  const lock = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'))
  const packages = Object.entries<Locked>(lock.packages).filter(([path]) => path !== '')
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))

  test('every package is fixed by a SHA-512 of its content', () => {
    const unfixed = packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    expect(unfixed.map(([path]) => path)).toEqual([])
  })

  test('every direct dependency is pinned to one version', () => {
    const versions = Object.values<string>({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })

  test('a package that runs a script when it is installed on Linux is one that package.json decided about', () => {
    const scripted = packages.filter(
      ([, { hasInstallScript, os = ['linux'], cpu = ['x64'] }]) =>
        hasInstallScript && os.includes('linux') && cpu.includes('x64'),
    )
    const decided = Object.keys(manifest.allowScripts)
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(names.filter((name) => !decided.includes(name))).toEqual([])
  })
})
