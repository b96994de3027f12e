import type { Command } from '../../history.ts'
import { type FactIndex, ownedKey, revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'failed-write-took-effect'

/** One command under one key: everything that was answered to its attempts. */
type Asked = {
  readonly command: Command
  /** A refusal after which no attempt with this key and content can take effect, earlier ones included. */
  never: string | undefined
  /** A refusal of that attempt alone: another one may have passed. */
  refusal: string | undefined
  /** Some attempt may have taken effect: 202, no answer, or an answer that leaves it open. */
  mayHavePassed: boolean
}

/**
 * A command whose every attempt was refused for good left nothing, and no edit is in two revisions.
 *
 * What an answer settles:
 * - 409 with the note at or past the revision, and 422 for a reused key: nothing under this key and content,
 *   ever. An attempt that had committed before would have been found by its receipt; one that comes later
 *   finds the revision, or the receipt of the other content.
 * - 409 with the note further back: nothing yet; an attempt still on its way may pass when the note has moved.
 * - other 4xx: that attempt reached no database. 408 is left open, although its request was not read whole.
 * - 5xx and no answer: the commit may have succeeded.
 */
export const refused: RuleFactory = ({ facts, findings }) => {
  const asked = new Map<string, Asked[]>()
  const digests = new Set<string>()
  return {
    see(entry) {
      if (entry.kind !== 'command') return
      digests.add(entry.digest)
      settle(commandUnderKey(asked, entry), entry)
    },
    finish() {
      for (const items of asked.values()) {
        for (const { command, never, refusal, mayHavePassed } of items) {
          const answer = never ?? (mayHavePassed ? undefined : refusal)
          if (answer === undefined || !tookEffect(facts, command)) continue
          findings.add(
            KIND,
            revisionKey(command.noteId, command.revision),
            `Key ${command.key} was answered ${answer}, but its command is committed.`,
          )
        }
      }
      const found = new Map<string, string>()
      for (const { noteId, revision, digest } of facts.facts.revisions) {
        if (!digests.has(digest)) continue
        const subject = revisionKey(noteId, revision)
        const other = found.get(digest)
        if (other) findings.add(KIND, subject, `The same edit is in ${other}: it took effect twice.`)
        found.set(digest, subject)
      }
    },
  }
}

function commandUnderKey(asked: Map<string, Asked[]>, command: Command): Asked {
  const id = ownedKey(command)
  const items = asked.get(id) ?? []
  if (items.length === 0) asked.set(id, items)
  const known = items.find(({ command: other }) => isSameCommand(command, other))
  if (known) return known
  const fresh: Asked = { command, never: undefined, refusal: undefined, mayHavePassed: false }
  items.push(fresh)
  return fresh
}

const isSameCommand = (a: Command, b: Command): boolean =>
  a.noteId === b.noteId && a.revision === b.revision && a.digest === b.digest

function settle(asked: Asked, { answer, revision }: Command): void {
  if (answer.outcome !== 'refused') {
    asked.mayHavePassed = true
    return
  }
  const { status, code, currentRevision } = answer
  const said = `${status} ${code}`
  if (code === 'idempotency-key-reused') asked.never = said
  else if (code === 'revision-conflict') {
    if ((currentRevision ?? 0) >= revision) asked.never = `${said} at revision ${currentRevision}`
    else asked.mayHavePassed = true
  } else if (status >= 500 || status === 408) asked.mayHavePassed = true
  else asked.refusal = said
}

/** Committed under this key, by the receipt, with this very content. */
function tookEffect(facts: FactIndex, { principal, key, noteId, revision, digest }: Command): boolean {
  const receipt = facts.receipt(principal, key)
  if (receipt?.noteId !== noteId || receipt.revision !== revision) return false
  return facts.revision(noteId, revision)?.digest === digest
}
