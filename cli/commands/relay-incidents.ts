import { type Command, Option } from 'commander'
import { z } from 'zod'
import { ALARM_CODES } from '../../core/relay/alarms.ts'
import { CliContext } from '../context.ts'
import { duration, wholeNumber } from '../options.ts'
import { counted, printable } from '../output.ts'

const Incident = z.object({
  alarm: z.string(),
  openedAt: z.string(),
  alarmedAt: z.string().nullable(),
  closedAt: z.string().nullable(),
  occurrences: z.int(),
  restarts: z.int(),
  firstText: z.string(),
  lastText: z.string(),
  sourceLsn: z.string().nullable(),
})
type Incident = z.infer<typeof Incident>
const Page = z
  .object({ incidents: z.array(z.looseObject(Incident.shape)), next: z.string().nullable() })
  .transform(({ incidents, next }) => ({ entries: incidents, next }))

type Flags = {
  readonly since?: number
  readonly open?: boolean
  readonly alarm?: string
  readonly limit: number
}

export function registerRelayIncidents(relay: Command): void {
  relay
    .command('incidents')
    .summary('what was not in order with the relay, from when to when')
    .description(
      "The watcher's journal, newest first: what was not in order, from when to when, error texts, restarts.",
    )
    .option('--since <duration>', 'only what held within the last 30s, 10m, 12h, 7d', duration)
    .option('--open', 'only what holds now')
    .addOption(new Option('--alarm <code>', 'only incidents of this alarm').choices(ALARM_CODES))
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText(
      'after',
      `
Times are of the source database's clock.

Examples:
  bin/notesctl relay incidents --since 12h
  bin/notesctl relay incidents --alarm task-failed --json | jq -r .lastText`,
    )
    .action(async ({ since, open, alarm, limit }: Flags, command: Command) => {
      const context = new CliContext(command)
      const query = new URLSearchParams({ limit: String(Math.min(limit, 200)) })
      if (since !== undefined) query.set('since', new Date(Date.now() - since * 1_000).toISOString())
      if (open) query.set('state', 'open')
      if (alarm !== undefined) query.set('alarm', alarm)
      let count = 0
      for await (const incident of context
        .consoleApi()
        .pages(`/relay/incidents?${query}`, Page, 'The list of incidents', limit)) {
        count += 1
        context.output.result(incident, () => incidentLines(incident))
      }
      if (count === 0) context.output.note('No such incident is in the journal.')
    })
}

export function incidentLines(incident: Incident): string[] {
  const { alarm, openedAt, alarmedAt, closedAt, occurrences, restarts, firstText, lastText } = incident
  const lastedSeconds = closedAt && (Date.parse(closedAt) - Date.parse(openedAt)) / 1_000
  const facts = [
    alarmedAt === null ? noAlarm(closedAt) : undefined,
    occurrences > 1 ? `${occurrences} times` : undefined,
    restarts > 0 ? counted(restarts, 'restart') : undefined,
    incident.sourceLsn === null ? undefined : `confirmed was ${incident.sourceLsn}`,
  ].filter((fact) => fact !== undefined)
  const until = closedAt ? `until ${closedAt} (${lastedSeconds} s)` : 'still open'
  return [
    `${openedAt}  ${alarm}  ${until}${facts.length > 0 ? `; ${facts.join(', ')}` : ''}`,
    ...indented(firstText),
    ...(lastText === firstText ? [] : ['  last:', ...indented(lastText)]),
  ].map(printable)
}

const noAlarm = (closedAt: string | null): string =>
  closedAt === null ? 'no alarm yet: within its grace' : 'no alarm: it passed before'

const indented = (text: string): string[] => text.split('\n').map((line) => `  ${line}`)
