import { contentDigest } from '../../../core/content-digest.ts'
import type { NoteContent } from '../../../core/note.ts'
import type { Random } from '../random.ts'

/** One thing an editor wants to save: what is sent is the same in every try. */
export type Edit = {
  readonly editId: string
  readonly subject: string
  readonly key: string
  readonly noteId: string
  readonly revision: number
  readonly content: NoteContent
  readonly digest: string
  /** The request's body. */
  readonly text: string
}

const WORDS = [
  'outbox',
  'ledger',
  'slot',
  'записка',
  'メモ',
  '🗒️',
  'ملاحظة',
  'naïve',
  '"quoted"',
  '\\',
  '{}',
  'NULL',
]

/** Makes edits whose contents are all different. */
export class EditFactory {
  readonly #random: Random
  readonly #prefix: string
  #count = 0

  constructor(random: Random, prefix: string) {
    this.#random = random
    this.#prefix = prefix
  }

  newNoteId(): string {
    return `${this.#prefix}-${(++this.#count).toString(36)}`
  }

  make(
    subject: string,
    noteId: string,
    revision: number,
    { key, visibility = 'public' }: { key?: string; visibility?: 'public' | 'withdrawn' } = {},
  ): Edit {
    const editId = `e${++this.#count}`
    const content: NoteContent = {
      title: `${editId} of ${noteId}`,
      url: this.#random.chance(0.3) ? `https://notes.example/${noteId}/${revision}` : null,
      type: this.#random.pick(['article', 'page', 'memo']),
      body: this.#body(editId),
      visibility,
    }
    return {
      editId,
      subject,
      key: key ?? `${this.#prefix}-${editId}`,
      noteId,
      revision,
      content,
      digest: contentDigest(content),
      text: JSON.stringify({ noteId, revision, ...content }),
    }
  }

  /** Mostly short, now and then long. */
  #body(editId: string): string {
    const words = this.#random.chance(0.01) ? this.#random.between(2_000, 8_000) : this.#random.between(3, 80)
    const text = [editId]
    for (let i = 0; i < words; i++) text.push(this.#random.pick(WORDS))
    return text.join(' ')
  }
}
