-- Watermarks written by the relay watcher: everything committed at the source before `as_of` is in the
-- topic below these end offsets. A projection that has passed all of them is at least as fresh as as_of.
CREATE TABLE public.freshness (
  as_of       timestamptz PRIMARY KEY,
  topic       text NOT NULL,
  end_offsets jsonb NOT NULL, -- {"0": "12", ...}: per partition the offset the next record will get
  observed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
