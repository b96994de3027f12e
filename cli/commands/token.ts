import { type Command, InvalidArgumentError, Option } from 'commander'
import { ROLES } from '../../core/auth.ts'
import { DEFAULT_ROLES, DEFAULT_SUBJECT, signToken } from '../access-token.ts'
import { CliContext } from '../context.ts'
import { durationOption } from '../options.ts'

type TokenFlags = {
  readonly subject: string
  readonly role: readonly string[]
  readonly expires: number
}

export function registerToken(program: Command): void {
  program
    .command('token')
    .summary('print a bearer token')
    .description('Prints a bearer token signed with AUTH_PRIVATE_KEY, and nothing else.')
    .option('--subject <name>', 'whose token; Idempotency-Keys are scoped to it', DEFAULT_SUBJECT)
    .addOption(
      new Option('--role <names>', `comma-separated: ${ROLES.join(', ')}`)
        .argParser(roles)
        .default([...DEFAULT_ROLES], DEFAULT_ROLES.join(',')),
    )
    .addOption(durationOption('--expires <duration>', 'valid for', '1h'))
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl token --subject ada --role editor --expires 12h
  curl -H "Authorization: Bearer $(bin/notesctl token)" http://127.0.0.1:18080/notes/readme`,
    )
    .action(async ({ subject, role, expires }: TokenFlags, command: Command) => {
      const context = new CliContext(command)
      const token = await signToken(context.settings, { subject, roles: role, expiresInSeconds: expires })
      context.output.result({ token, subject, roles: role, expiresInSeconds: expires }, () => token)
    })
}

function roles(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !(ROLES as readonly string[]).includes(name))
  if (unknown.length > 0)
    throw new InvalidArgumentError(`Roles are ${ROLES.join(', ')}; not ${unknown.join(', ')}.`)
  return names
}
