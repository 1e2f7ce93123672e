-- +goose Up
-- Projection "work": what has still to be done outside of the log. A decision table. What waits in one key is a list linked through the
-- rows of work, so that an event changes a handful of rows whatever waits.
CREATE TABLE work (
  seq         INTEGER PRIMARY KEY,  -- of the event that asked for it; its data is there
  stream      TEXT NOT NULL UNIQUE, -- of its events
  effect_id   TEXT NOT NULL,        -- unique for ever; run/<id> for a run
  kind        TEXT NOT NULL,        -- who does it; run for runs of agents
  key         TEXT NOT NULL,        -- what has the same is done one after the other; a run's is its session's
  pool        TEXT NOT NULL,        -- bounds how much is done at a time; a run's is its lane
  owner       TEXT NOT NULL,        -- an agent, or ''
  since       INTEGER NOT NULL,     -- ms since 1970: when it was asked for
  most        INTEGER NOT NULL,     -- attempts; 0 is as its kind has it
  state       TEXT NOT NULL,        -- waiting, leased, dead; what is done has no row
  due_at      INTEGER NOT NULL,     -- ms since 1970: not before; 0 is at once
  attempt     INTEGER NOT NULL,     -- how many were begun
  lease_until INTEGER NOT NULL,     -- ms since 1970; 0 while it is not leased, or for ever
  error       TEXT NOT NULL,        -- of the newest attempt that failed, or ''
  before      TEXT NOT NULL,        -- stream of the item before it in its key; '' for none, and for what is dead
  after       TEXT NOT NULL         -- likewise behind it
) STRICT;
CREATE INDEX work_waiting ON work (pool, owner, since) WHERE state = 'waiting';
CREATE INDEX work_leased ON work (seq) WHERE state = 'leased';
CREATE INDEX work_dead ON work (seq) WHERE state = 'dead';

CREATE TABLE work_keys ( -- keys in which something waits or is leased
  key      TEXT PRIMARY KEY,
  first    TEXT NOT NULL,    -- stream of the first item; only that is ever leased
  last     TEXT NOT NULL,
  waiting  INTEGER NOT NULL, -- how many
  leased   INTEGER NOT NULL, -- 0 or 1
  since    INTEGER NOT NULL, -- ms since 1970: when the first that waits was asked for; 0 if none does
  pool     TEXT NOT NULL,    -- of the first item
  owner    TEXT NOT NULL,    -- likewise
  kind     TEXT NOT NULL,    -- likewise
  seq      INTEGER NOT NULL, -- likewise
  ready_at INTEGER           -- when the first may be begun, ms since 1970, 0 for at once; NULL while it is leased
) STRICT, WITHOUT ROWID;
CREATE INDEX work_keys_ready ON work_keys (pool, owner, kind, ready_at, seq) WHERE ready_at IS NOT NULL;

CREATE TABLE work_lanes ( -- how much there is; a row for each that there is some of
  pool    TEXT NOT NULL,
  owner   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  waiting INTEGER NOT NULL,
  leased  INTEGER NOT NULL,
  dead    INTEGER NOT NULL,
  PRIMARY KEY (pool, owner, kind)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_work AS
SELECT effect_id, kind, key, pool, nullif(owner, '') AS owner, state, attempt, nullif(most, 0) AS max_attempts, nullif(error, '') AS error,
       strftime('%Y-%m-%dT%H:%M:%fZ', since / 1000.0, 'unixepoch') AS since, since AS since_ms,
       CASE WHEN due_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') END AS due_at, nullif(due_at, 0) AS due_ms,
       CASE WHEN lease_until > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1000.0, 'unixepoch') END AS lease_until,
       nullif(lease_until, 0) AS lease_until_ms, seq
  FROM work;

CREATE VIEW v_work_lanes AS
SELECT pool, nullif(owner, '') AS owner, kind, waiting, leased, dead
  FROM work_lanes;

-- +goose Down
DROP VIEW v_work_lanes;
DROP VIEW v_work;
DROP TABLE work_lanes;
DROP TABLE work_keys;
DROP TABLE work;
