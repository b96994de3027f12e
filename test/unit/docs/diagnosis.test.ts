import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SYMPTOMS } from '../../../services/console/diagnosis/contract.ts'
import { RUNBOOK } from '../../../services/console/diagnosis/symptoms.ts'

const file = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
const runbook = file('docs/runbook.md')

test('every symptom has a section in the runbook, and a row in its first table', () => {
  const sections = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title]) => title)
  for (const symptom of SYMPTOMS) {
    expect(sections, symptom).toContain(RUNBOOK[symptom])
    expect(runbook, symptom).toMatch(new RegExp(`^\\|.*\`${symptom}\`.*"`, 'm'))
  }
})

test('sections that the runbook sends to exist', () => {
  const sections = new Set([...runbook.matchAll(/^## (.+)$/gm)].map(([, title]) => title))
  const named = [...runbook.matchAll(/"([A-Z][^"\n…]* [^"\n…]*)"/g)].map(([, title]) => title)
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((title) => title !== undefined && !sections.has(title))).toEqual([])
})
