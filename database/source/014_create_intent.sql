-- The outbox's own default values look for their tables on the way of whoever inserts.
ALTER FUNCTION create_intent SET search_path = pg_catalog, public, pg_temp;
