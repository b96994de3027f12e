export type ConsumerName = 'catalog' | 'audit'

/** One partition as one consumer's generation sees it: the key of a progress row. */
export type Place = {
  readonly consumer: ConsumerName
  readonly generation: number
  readonly topic: string
  readonly partition: number
}

/** A place within one life of the topic; a topic that was made anew is another one. */
export type LivePlace = Place & { readonly incarnation: number }
