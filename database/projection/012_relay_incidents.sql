-- What was not in order with the relay, from when to when: written by the watcher, read by diagnosis. Times
-- are of the source's clock, as far as the watcher could read it, so that they compare with commit times.
CREATE TABLE public.relay_incidents (
  id           uuid PRIMARY KEY,
  relay        text NOT NULL, -- the replication slot's name
  alarm        text NOT NULL CHECK (alarm ~ '^[a-z]+(-[a-z]+)*$'),
  opened_at    timestamptz NOT NULL,
  alarmed_at   timestamptz, -- when it had lasted long enough to be an alarm; null: it passed before
  last_seen_at timestamptz NOT NULL,
  closed_at    timestamptz,
  occurrences  int NOT NULL CHECK (occurrences >= 1), -- above 1: it came back soon after it had gone
  restarts     int NOT NULL CHECK (restarts >= 0), -- restarts of the connector that the watcher asked for
  first_text   text NOT NULL,
  last_text    text NOT NULL,
  source_lsn   pg_lsn, -- what the slot had confirmed when it was opened
  details      jsonb NOT NULL DEFAULT '{}',
  CHECK (opened_at <= last_seen_at AND (closed_at IS NULL OR closed_at >= opened_at))
);
CREATE INDEX relay_incidents_by_time ON public.relay_incidents (opened_at DESC, id DESC);
-- Several watchers, or one that was started anew, go on with the open one.
CREATE UNIQUE INDEX relay_incidents_one_open ON public.relay_incidents (relay, alarm) WHERE closed_at IS NULL;

-- Which topic the watermarks are about. A topic that was deleted and made anew has the same name and another
-- id; watermarks stop until an operator accepts it.
CREATE TABLE public.relay_topics (
  topic       text PRIMARY KEY,
  topic_id    uuid NOT NULL,
  cluster_id  text NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Watermarks of before do not say of which topic: the watcher writes one that does within seconds.
DELETE FROM public.freshness;
ALTER TABLE public.freshness ADD COLUMN topic_id uuid NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON public.relay_incidents TO projection_watcher;
GRANT SELECT, INSERT ON public.relay_topics TO projection_watcher;
GRANT SELECT ON public.relay_incidents, public.relay_topics TO projection_operator, projection_verifier;
-- Accepting a topic that was made anew: recorded as an operator action in the same transaction.
GRANT UPDATE (topic_id, cluster_id, recorded_at) ON public.relay_topics TO projection_operator;
GRANT DELETE ON public.freshness TO projection_operator;
