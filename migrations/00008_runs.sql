-- +goose Up
-- Projection "run": the runs of agents that there are and were. A decision table. What was asked and answered is in events alone.
CREATE TABLE runs (
  id            INTEGER PRIMARY KEY,  -- seq of the event that queued it
  name          TEXT NOT NULL UNIQUE, -- of its stream, after run/: its id, or the hash of one that cannot stand in a name
  run_id        TEXT NOT NULL,        -- '' where name is its id
  place         INTEGER NOT NULL,     -- in its session's queue: id, or for what repeats another run the place of that
  queued_at     INTEGER NOT NULL,     -- ms since 1970
  agent         TEXT NOT NULL,
  lane          TEXT NOT NULL,        -- main, nested, subagent
  cause         TEXT NOT NULL,        -- agent, chat, http, a2a, ...
  retry_of      TEXT NOT NULL,        -- id of the run that it repeats, or ''
  session_key   TEXT NOT NULL,
  state         TEXT NOT NULL,        -- queued, running, ok, error, aborted, timed_out
  session_id    TEXT NOT NULL,        -- of the transcript that it speaks in, or that it is meant for; ''
  started_at    INTEGER NOT NULL,     -- ms since 1970; 0: not yet, or never
  ended_at      INTEGER NOT NULL,     -- ms since 1970; 0: not yet
  over_seq      INTEGER NOT NULL,     -- of the event that ended it; 0: none has
  provider      TEXT NOT NULL,        -- that answered last
  model         TEXT NOT NULL,
  stop_reason   TEXT NOT NULL,        -- of ok
  reason        TEXT NOT NULL,        -- of aborted
  error_class   TEXT NOT NULL,        -- of error
  input_tokens  INTEGER NOT NULL,     -- of all its calls of models
  output_tokens INTEGER NOT NULL,
  total_tokens  INTEGER NOT NULL,
  model_calls   INTEGER NOT NULL,
  tool_calls    INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_open ON runs (session_key, over_seq, place) WHERE over_seq = 0; -- over_seq makes it the better one of two
CREATE INDEX runs_by_session ON runs (session_key);
CREATE INDEX runs_by_agent ON runs (agent);
CREATE INDEX runs_by_state ON runs (state) WHERE state <> 'ok'; -- the newest that are ok are among the newest

CREATE TABLE run_states (
  state TEXT PRIMARY KEY,
  runs  INTEGER NOT NULL -- how many are in it
) STRICT, WITHOUT ROWID;

CREATE VIEW v_runs AS
SELECT CASE run_id WHEN '' THEN name ELSE run_id END AS run_id, nullif(session_key, '') AS session_key, nullif(session_id, '') AS session_id,
       nullif(agent, '') AS agent, lane, cause, state, nullif(retry_of, '') AS retry_of,
       strftime('%Y-%m-%dT%H:%M:%fZ', queued_at / 1000.0, 'unixepoch') AS queued_at, queued_at AS queued_ms,
       CASE WHEN started_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') END AS started_at,
       nullif(started_at, 0) AS started_ms,
       CASE WHEN ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(ended_at, 0) AS ended_ms,
       nullif(provider, '') AS provider, nullif(model, '') AS model, nullif(stop_reason, '') AS stop_reason, nullif(reason, '') AS reason,
       nullif(error_class, '') AS error_class, input_tokens, output_tokens, total_tokens, model_calls, tool_calls,
       id AS seq, nullif(over_seq, 0) AS over_seq
  FROM runs;

-- +goose Down
DROP VIEW v_runs;
DROP TABLE run_states;
DROP TABLE runs;
