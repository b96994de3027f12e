-- transaction_id, session_user_name and application_name are provenance, filled by default: equal
-- transaction ids prove that note revision, intent and receipt were one commit, and the names tell
-- a write path that went around the API.

CREATE TABLE notes (
  note_id    text PRIMARY KEY CHECK (note_id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  revision   int NOT NULL CHECK (revision >= 1),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE note_revisions (
  note_id           text NOT NULL REFERENCES notes,
  revision          int NOT NULL CHECK (revision >= 1),
  title             text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 1000),
  url               text CHECK (octet_length(url) <= 2048),
  type              text NOT NULL CHECK (type ~ '^[a-z][a-z0-9-]{0,31}$'),
  body              text NOT NULL CHECK (octet_length(body) <= 524288),
  visibility        text NOT NULL CHECK (visibility IN ('public', 'withdrawn')),
  content_digest    text NOT NULL GENERATED ALWAYS AS (content_digest(title, url, type, body, visibility)) STORED,
  occurred_at       timestamptz NOT NULL,
  transaction_id    xid8 NOT NULL DEFAULT pg_current_xact_id(),
  session_user_name name NOT NULL DEFAULT session_user,
  application_name  text NOT NULL DEFAULT current_setting('application_name'),
  PRIMARY KEY (note_id, revision)
);

-- The publication intent. The CHECKs make a row that Debezium or Kafka would choke on impossible:
-- one such row would stop the relay for every note.
CREATE TABLE outbox (
  note_id           text NOT NULL,
  revision          int NOT NULL,
  event_id          uuid NOT NULL UNIQUE,
  aggregate_type    text NOT NULL DEFAULT 'note' CHECK (aggregate_type = 'note'),
  event_type        text NOT NULL CHECK (event_type IN ('NoteRevised', 'NoteWithdrawn')),
  envelope          bytea CHECK (octet_length(envelope) BETWEEN 6 AND 900000 AND get_byte(envelope, 0) = 0),
  traceparent       text NOT NULL CHECK (traceparent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'),
  pruned_at         timestamptz,
  created_at        timestamptz NOT NULL DEFAULT now(),
  relay_incarnation int DEFAULT current_relay_incarnation() REFERENCES relay_slots,
  transaction_id    xid8 NOT NULL DEFAULT pg_current_xact_id(),
  session_user_name name NOT NULL DEFAULT session_user,
  application_name  text NOT NULL DEFAULT current_setting('application_name'),
  PRIMARY KEY (note_id, revision),
  FOREIGN KEY (note_id, revision) REFERENCES note_revisions,
  CHECK ((envelope IS NULL) = (pruned_at IS NOT NULL))
);

-- Avro is compressed by nobody on the way, and pglz on every insert costs more than it saves here.
ALTER TABLE outbox ALTER COLUMN envelope SET STORAGE EXTERNAL;

CREATE TABLE request_receipts (
  principal         text NOT NULL CHECK (char_length(principal) <= 512),
  idempotency_key   text NOT NULL CHECK (char_length(idempotency_key) <= 255),
  fingerprint       bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  event_id          uuid NOT NULL,
  note_id           text NOT NULL,
  revision          int NOT NULL,
  answer            jsonb NOT NULL,
  created_at        timestamptz NOT NULL DEFAULT now(),
  transaction_id    xid8 NOT NULL DEFAULT pg_current_xact_id(),
  session_user_name name NOT NULL DEFAULT session_user,
  application_name  text NOT NULL DEFAULT current_setting('application_name'),
  PRIMARY KEY (principal, idempotency_key)
);
CREATE INDEX request_receipts_by_event ON request_receipts (event_id);

-- The schema ids this source has learned from the registry, so that a write API can start and encode
-- while the registry is away. schema is the registry's text for that id, compared on every start.
CREATE TABLE known_schemas (
  subject    text NOT NULL,
  schema_id  int NOT NULL,
  schema     text NOT NULL,
  learned_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (subject, schema_id)
);
