-- Nothing here needs temporary tables, and one of the name of a real table would come before it.
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;

-- The projector changes these columns and no others: not what a record was, where it lay, which note it is.
REVOKE UPDATE ON catalog.notes, catalog.progress, audit.progress, quarantine.records, catalog.revision_gaps
  FROM projection_projector;
GRANT UPDATE (revision, event_id, title, url, type, body, visibility, revised_at, applied_at) ON catalog.notes
  TO projection_projector;
GRANT UPDATE (next_offset, last_event_id, last_broker_time, topic_id, updated_at) ON catalog.progress, audit.progress
  TO projection_projector;
GRANT UPDATE (state, attempts, last_at, resolved_at, resolution, reason, explanation) ON quarantine.records
  TO projection_projector;
GRANT UPDATE (alarmed_at) ON catalog.revision_gaps TO projection_projector;
