/**
 * Runs `work` on every item, at most `limit` at a time, started in the items' order; the source is asked
 * for an item only when one can start, so memory stays flat. After a failure nothing more is started;
 * rejects with the first one when everything running has ended.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined
  for await (const item of items) {
    const task: Promise<void> = work(item)
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => running.delete(task))
    running.add(task)
    if (running.size >= limit) await Promise.race(running)
    if (failure) break
  }
  await Promise.all(running)
  if (failure) throw failure.error
}
