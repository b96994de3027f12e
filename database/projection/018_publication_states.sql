-- What lists of publications by state, and the chain of one, go through, so that none of them reads what is in
-- order. All are over rows that are the exception.

-- What a consumer has not applied, also what will never be.
CREATE INDEX records_not_applied ON quarantine.records (consumer, generation, id)
  WHERE state IN ('open', 'redriving', 'held', 'discarded');

-- Revisions that readers were taken past and that no record has brought since.
CREATE INDEX revision_gaps_not_arrived ON catalog.revision_gaps (generation, note_id, first_revision)
  WHERE closed_how IS DISTINCT FROM 'arrived';

-- "Since the commit": what was over before is never read.
CREATE INDEX relay_incidents_by_end ON public.relay_incidents (closed_at) WHERE closed_at IS NOT NULL;
