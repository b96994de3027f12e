/**
 * Does a batch start where it was asked for? `hole`: records in between were not delivered. `moved-back`:
 * the client was set back behind our back, which it does when its offset does not exist any more.
 */
export function judgeStart(
  firstOffset: number,
  nextOffset: number,
  comparing: boolean,
): 'as-asked' | 'hole' | 'moved-back' {
  if (firstOffset > nextOffset) return 'hole'
  return firstOffset < (comparing ? nextOffset - 1 : nextOffset) ? 'moved-back' : 'as-asked'
}
