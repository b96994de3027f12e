import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { notesctlProgram } from '../../../cli/program.ts'
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

/** Commands of notesctl that a text names, as far as their words go: `relay recover`, `verify`. */
const commandsIn = (text: string) =>
  [...text.matchAll(/bin\/notesctl((?: [a-z][a-z-]*)+)/g)].map(([, words]) => words?.trim().split(' ') ?? [])

test.each(['docs/runbook.md', 'README.md', 'docs/limits.md'])(
  'every command of notesctl in %s exists',
  (name) => {
    for (const words of commandsIn(file(name))) {
      let command = notesctlProgram()
      const names = () => command.commands.map((each) => each.name())
      expect(names(), words.join(' ')).toContain(words[0])
      for (const word of words) {
        const next = command.commands.find((each) => each.name() === word)
        if (!next) break // An argument, such as a note's id.
        command = next
      }
      const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0
      const rest = words.at(-1)
      if (isGroup && rest !== command.name()) expect(names(), words.join(' ')).toContain(rest)
    }
  },
)
