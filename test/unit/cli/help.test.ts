import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { notesctlProgram } from '../../../cli/program.ts'

/** A command and those below it, by the words that call them. */
const all = (command: Command, words: string): [string, Command][] => [
  [words, command],
  ...command.commands.flatMap((each) => all(each, `${words} ${each.name()}`)),
]

test.each(all(notesctlProgram(), 'notesctl'))('%s --help has an example', (words, command) => {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  const examples = text.slice(text.search(/^(Examples?|First steps):$/m))
  expect(examples).toContain(`bin/${words}`)
})
