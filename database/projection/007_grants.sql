REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO projection_projector, projection_read_api, projection_watcher, projection_operator, projection_verifier;
GRANT USAGE ON SCHEMA catalog TO projection_projector, projection_read_api, projection_watcher, projection_operator, projection_verifier;
GRANT USAGE ON SCHEMA quarantine TO projection_read_api;
GRANT USAGE ON SCHEMA audit, quarantine TO projection_projector, projection_operator, projection_verifier;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
GRANT EXECUTE ON FUNCTION public.content_digest TO projection_projector, projection_verifier;

GRANT SELECT, INSERT, UPDATE ON catalog.notes, catalog.progress, audit.progress, quarantine.records TO projection_projector;
GRANT SELECT, INSERT ON catalog.inbox, audit.records TO projection_projector;
GRANT SELECT ON catalog.generations, catalog.live_generation TO projection_projector;

GRANT SELECT ON catalog.notes, catalog.live_generation, catalog.progress, public.freshness TO projection_read_api;
-- Whether a revision is quarantined and why; not its bytes.
GRANT SELECT (consumer, generation, note_id, revision, event_id, reason, first_at) ON quarantine.records TO projection_read_api;

GRANT SELECT, INSERT, DELETE ON public.freshness TO projection_watcher;
GRANT SELECT ON catalog.live_generation, catalog.progress TO projection_watcher;

GRANT SELECT ON ALL TABLES IN SCHEMA public, catalog, audit, quarantine TO projection_operator, projection_verifier;
