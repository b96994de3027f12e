import type { ConsumerName, Place } from '../../core/position.ts'

export type { ConsumerName, Place }

/** A place within one life of the topic; a topic that was made anew is another one. */
export type LivePlace = Place & { readonly incarnation: number }
