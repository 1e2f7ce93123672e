-- +goose Up
-- The log. Nothing else holds truth.
CREATE TABLE streams (
  id   INTEGER PRIMARY KEY, -- seq of the stream's first event
  name TEXT NOT NULL UNIQUE -- e.g. task/task_ab12, conversation/<uuid>
) STRICT;

CREATE TABLE events (
  seq            INTEGER PRIMARY KEY, -- gapless, assigned by the writer
  id             BLOB NOT NULL CHECK (length(id) = 16), -- UUIDv7
  stream_id      INTEGER NOT NULL,    -- streams.id
  version        INTEGER NOT NULL,    -- position in the stream, from 1
  type           TEXT NOT NULL,
  ver            INTEGER NOT NULL,    -- version of the shape of data
  agent_id       TEXT NOT NULL,       -- '' where an imported line names none
  ts             INTEGER NOT NULL,    -- ms since 1970: when it happened; never orders the log
  recorded_at    INTEGER NOT NULL,    -- ms since 1970: when it was stored; never decreases
  correlation_id TEXT NOT NULL,
  causation_id   TEXT NOT NULL,
  actor          TEXT NOT NULL,       -- human, agent, system, schedule, import
  data           TEXT CHECK (data IS NULL OR json_valid(data)), -- JSON object; NULL once redacted
  original       TEXT,                -- envelope of an imported line that the columns cannot reproduce
  salt           BLOB,                -- 16 bytes; NULL once redacted
  data_hash      BLOB NOT NULL,       -- SHA-256(salt, data, original)
  hash           BLOB NOT NULL        -- SHA-256(previous hash, columns, data_hash)
) STRICT;
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE UNIQUE INDEX events_by_stream ON events (stream_id, version);

-- +goose StatementBegin
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are append-only: a row is never deleted');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_are_only_blanked BEFORE UPDATE ON events
WHEN NOT (new.data IS NULL AND new.original IS NULL AND new.salt IS NULL
  AND new.seq = old.seq AND new.id = old.id AND new.stream_id = old.stream_id AND new.version = old.version
  AND new.type = old.type AND new.ver = old.ver AND new.agent_id = old.agent_id AND new.ts = old.ts
  AND new.recorded_at = old.recorded_at AND new.correlation_id = old.correlation_id
  AND new.causation_id = old.causation_id AND new.actor = old.actor
  AND new.data_hash = old.data_hash AND new.hash = old.hash)
BEGIN
  SELECT RAISE(ABORT, 'events are append-only: only data, original and salt may be blanked, together');
END;
-- +goose StatementEnd

-- Where each projection stands. Moved by compare-and-set in the transaction that applies the events.
CREATE TABLE projections (
  name         TEXT PRIMARY KEY,
  version      TEXT NOT NULL,    -- of the code and its rules; another one means rebuild
  kind         TEXT NOT NULL,    -- decision, read-model
  state        TEXT NOT NULL,    -- live, parked, rebuilding
  seq          INTEGER NOT NULL, -- the tables reflect the log up to here
  context      TEXT NOT NULL CHECK (json_valid(context)), -- configuration folded from config.applied up to seq
  parked_seq   INTEGER,          -- the event that could not be applied
  parked_error TEXT,
  parked_at    INTEGER           -- ms since 1970
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE projections;
DROP TRIGGER events_are_only_blanked;
DROP TRIGGER events_are_never_deleted;
DROP TABLE events;
DROP TABLE streams;
