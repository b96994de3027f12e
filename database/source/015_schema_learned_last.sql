-- The id that was learned last counts, not the highest: a registry that was restored can number from the start.
GRANT UPDATE (learned_at) ON known_schemas TO notes_write_api;
