const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/**
 * Do arrays and objects of this JSON text nest deeper than `limit`? Looked at before parsing, because a
 * megabyte of brackets costs the parser a hundred times that. For text that is not JSON the answer means
 * nothing. Strings are jumped over from quote to quote, so a note with a long body costs next to nothing.
 */
export function nestsDeeperThan(limit: number, json: Buffer): boolean {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number
    if (byte === QUOTE) at = endOfString(json, at + 1)
    else if (OPENING.has(byte) && ++depth > limit) return true
    else if (CLOSING.has(byte)) depth--
  }
  return false
}

/** Position of the quote that ends the string whose content starts at `from`: the first one not escaped. */
function endOfString(json: Buffer, from: number): number {
  for (let quote = json.indexOf(QUOTE, from); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let escapes = 0
    while (quote - escapes > from && json[quote - escapes - 1] === BACKSLASH) escapes++
    if (escapes % 2 === 0) return quote
  }
  return json.length
}
