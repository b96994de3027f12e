import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { Finding } from './contract.ts'
import type { Part } from './part.ts'
import type { PublicReading } from './read-public.ts'
import { RUNBOOK, seconds } from './symptoms.ts'

const ALLOWED_SECONDS = ALLOWED_DELAY_MS.commitToVisible / 1_000

/** What readers are told, as far as it shows without asking for one note. Pure. */
export function publicFindings(publicRead: Part<PublicReading>): readonly Finding[] {
  if (publicRead.status === 'unknown') return [away(publicRead.reason)]
  const { ageSeconds, maxAgeSeconds, asOf, freshness } = publicRead.value
  const fact = (text: string) => ({ text, source: 'read-api' as const, readAt: publicRead.readAt })
  if (ageSeconds !== null && ageSeconds > (maxAgeSeconds ?? 0) + ALLOWED_SECONDS) {
    return [
      {
        symptom: 'stale-public-read',
        cause: 'cache',
        severity: 'warning',
        subject: null,
        summary: `A cache in front of the read API answers with what is ${seconds(ageSeconds)} old; ${maxAgeSeconds ?? 0} s is what the read API allows.`,
        facts: [fact(`GET /notes?limit=1 was answered with Age: ${ageSeconds}.`)],
        assumptions: ['The cache does the same with single notes.'],
        check: 'The header Age of an answer, which only a cache sets, against its max-age.',
        owner: 'read-side',
        next: [
          {
            run: 'bin/notesctl diagnose NOTE:REV',
            why: 'Compares, for one note, what readers get with what the catalog has.',
          },
        ],
        runbook: RUNBOOK['stale-public-read'],
      },
    ]
  }
  if (freshness !== 'behind' && freshness !== 'unknown') return []
  const text = `Projection-Freshness is ${freshness}; the answer is as of ${asOf ?? 'unknown'}.`
  return [
    {
      symptom: 'stale-public-read',
      cause: freshness === 'behind' ? 'projection-old' : 'freshness-unknown',
      severity: 'warning',
      subject: null,
      summary:
        freshness === 'behind'
          ? `Readers are told that what they see is more than ${seconds(ALLOWED_SECONDS)} old (as of ${asOf ?? 'unknown'}).`
          : `Readers are told that nobody knows how fresh their answer is: no watermark of the last ${seconds(ALLOWED_SECONDS)} is there.`,
      facts: [fact(text)],
      assumptions: ['The other findings say why; without any it lasts for seconds after a start.'],
      check: 'What the read API says of its own answer.',
      owner: freshness === 'behind' ? 'projector' : 'relay',
      next: [{ run: 'bin/notesctl relay incidents --open', why: 'What holds now, with its cause.' }],
      runbook: RUNBOOK['stale-public-read'],
    },
  ]
}

const away = (reason: string): Finding => ({
  symptom: 'part-away',
  cause: 'read-api-unreachable',
  severity: 'warning',
  subject: null,
  summary: `The public read API gives no answer (${reason}); what readers see now is unknown.`,
  facts: [],
  assumptions: ['Readers get no answer either, unless a cache in front of it has one.'],
  check: 'GET /notes?limit=1 at the address that readers use.',
  owner: 'read-side',
  next: [
    { run: 'bin/up', why: 'Starts what is down.' },
    { run: 'curl -s "$READ_API_URL/readyz"', why: 'Says which part it waits for.' },
  ],
  runbook: RUNBOOK['part-away'],
})
