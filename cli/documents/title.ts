import { basename } from 'node:path'
import { LIMITS } from '../../core/note.ts'

/** A heading further down than this is not the document's title. */
const SEARCHED_CHARS = 65_536

/**
 * The first heading of a Markdown text (`# Title`, any level, or a line underlined with = or -) as plain
 * text; headings that are only an image or empty are passed over, fenced code is not looked at.
 */
export function firstHeading(text: string): string | undefined {
  let fence: string | undefined
  let previous = ''
  for (const line of text.slice(0, SEARCHED_CHARS).split(/\r?\n/)) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined
      continue
    }
    if (mark !== undefined) {
      fence = mark
      continue
    }
    const heading = /^ {0,3}#{1,6}[ \t]+(.*)$/.exec(line)?.[1]?.replace(/[ \t]+#+[ \t]*$/, '')
    const underlined =
      /^ {0,3}(?:=+|-{3,})[ \t]*$/.test(line) && previous.trim() !== '' ? previous : undefined
    const title = plainText(heading ?? underlined ?? '')
    if (title !== '') return title
    previous = line
  }
  return undefined
}

/** One line of Markdown without its marks: images gone, links and code as their text. */
export function plainText(markdown: string): string {
  return cut(
    markdown
      .slice(0, 4 * LIMITS.titleChars)
      .replaceAll(/!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?/g, '')
      .replaceAll(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?/g, '$1')
      .replaceAll(/<[^<>]*>/g, '')
      .replaceAll(/(\*\*|__|`+|~~)/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

/** A title made from the file's name, or from its folder's when the file is a README or an index. */
export function titleFromPath(path: string): string {
  const name = basename(path).replace(/\.(md|markdown)$/i, '')
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
  const title = /^(readme|index)$/i.test(name) && folder !== '' ? folder : name
  return cut(title.toWellFormed().replaceAll('\0', '')) || 'Untitled'
}

const cut = (text: string): string => [...text].slice(0, LIMITS.titleChars).join('')
