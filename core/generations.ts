/**
 * Generations of one consumer that may exist at the same time: each one costs the projector a pool and a
 * consumer, and the database every write once more. The database refuses another one (016_generations.sql).
 */
export const MAX_GENERATIONS = 3

/**
 * The generation of audit that evidence goes by, and that is always fed. Others only read the topic again and
 * add rows that are missing in the ledger, which all of them share.
 */
export const FIRST_AUDIT_GENERATION = 1
