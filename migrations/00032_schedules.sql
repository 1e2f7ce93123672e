-- +goose Up
-- Projection "schedule": jobs that are due at certain times, and their runs. A decision table.
CREATE TABLE cron_jobs (
  name        TEXT PRIMARY KEY,  -- of its stream, after cron/: its id, or the hash of one that cannot stand in a name
  job_id      TEXT NOT NULL,
  seq         INTEGER NOT NULL,  -- of the event that added it
  label       TEXT NOT NULL,     -- what people call it
  agent       TEXT NOT NULL,     -- in lower case; '' for the default agent
  kind        TEXT NOT NULL,     -- at, every, cron
  enabled     INTEGER NOT NULL,  -- 0 or 1
  next_at     INTEGER NOT NULL,  -- ms since 1970: next due time; 0 for never
  wake_at     INTEGER NOT NULL,  -- ms since 1970: when it is started, later than next_at in a back-off; 0 for never, or while it runs
  run_id      TEXT NOT NULL,     -- run in progress, or ''
  running_at  INTEGER NOT NULL,  -- ms since 1970: since when; 0
  last_status TEXT NOT NULL,     -- ok, error, skipped, or ''
  updated_at  INTEGER NOT NULL,  -- ms since 1970
  last_seq    INTEGER NOT NULL,  -- of the last event about it
  state       TEXT NOT NULL      -- JSON: the job and how far it has come, coordination/schedule.State
) STRICT, WITHOUT ROWID;
CREATE INDEX cron_jobs_by_wake ON cron_jobs (wake_at, seq) WHERE wake_at > 0;
CREATE INDEX cron_jobs_running ON cron_jobs (seq) WHERE run_id <> '';

CREATE TABLE cron_runs (
  run_id   TEXT PRIMARY KEY,
  job      TEXT NOT NULL,     -- name of its job
  seq      INTEGER NOT NULL,  -- of the event that began it
  due_at   INTEGER NOT NULL,  -- ms since 1970, as all times
  at       INTEGER NOT NULL,  -- when it began
  ended_at INTEGER NOT NULL,  -- 0 while it is not over
  manual   INTEGER NOT NULL,  -- 1: on request
  status   TEXT NOT NULL,     -- ok, error, skipped; '' while it is not over
  delivery TEXT NOT NULL,     -- not-requested, delivered, not-delivered, unknown; ''
  delivery_error TEXT NOT NULL,  -- or ''
  total_tokens INTEGER NOT NULL, -- of all model calls
  end_seq  INTEGER NOT NULL   -- of the event that ended it; 0
) STRICT, WITHOUT ROWID;
CREATE INDEX cron_runs_by_job ON cron_runs (job, seq);
CREATE INDEX cron_runs_by_seq ON cron_runs (seq);

-- +goose StatementBegin
CREATE VIEW v_cron_jobs ( -- Scheduled jobs and heartbeats that are kept.
  job_id, -- text: the job's id
  name, -- text: what people call it
  agent, -- text: the agent that runs, or NULL for the default agent
  kind, -- text: at, every, cron
  enabled, -- integer: 1: it becomes due
  next_at, -- text: next due time, or NULL
  next_ms, -- integer: the same, ms since 1970
  run_id, -- text: the run in progress, or NULL
  last_status, -- text: of the last run: ok, error, skipped; NULL without one
  errors, -- integer: consecutive ones, or NULL
  runs, -- integer: of due times, or NULL
  missed, -- integer: due times without a run, or NULL
  seq -- integer: of the last event about it
) AS
SELECT job_id, label, nullif(agent, ''), kind, enabled,
       CASE WHEN next_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', next_at / 1000.0, 'unixepoch') END, nullif(next_at, 0),
       nullif(run_id, ''), nullif(last_status, ''), json_extract(state, '$.errors'), json_extract(state, '$.runs'), json_extract(state, '$.missed'), last_seq
  FROM cron_jobs;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_cron_runs ( -- Runs of scheduled jobs, also of removed ones: one per due time, and those on request.
  run_id, -- text: the run's id; that of the agent's run, if there is one
  job_id, -- text: the job's id
  due_at, -- text: due time
  due_ms, -- integer: the same, ms since 1970
  started_at, -- text: when it started
  started_ms, -- integer: the same, ms since 1970
  ended_at, -- text: when it ended, or NULL
  ended_ms, -- integer: the same, ms since 1970
  manual, -- integer: 1: on request
  status, -- text: ok, error, skipped; NULL while it is not over
  delivery, -- text: of the answer: not-requested, delivered, not-delivered, unknown; NULL while it is not over
  total_tokens, -- integer: of all model calls
  seq -- integer: of the event that started it
) AS
SELECT r.run_id, coalesce(j.job_id, r.job), strftime('%Y-%m-%dT%H:%M:%fZ', r.due_at / 1000.0, 'unixepoch'), r.due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1000.0, 'unixepoch'), r.at,
       CASE WHEN r.ended_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', r.ended_at / 1000.0, 'unixepoch') END, nullif(r.ended_at, 0),
       r.manual, nullif(r.status, ''), nullif(r.delivery, ''), r.total_tokens, r.seq
  FROM cron_runs r LEFT JOIN cron_jobs j ON j.name = r.job;
-- +goose StatementEnd

-- +goose Down
DROP VIEW v_cron_runs;
DROP VIEW v_cron_jobs;
DROP TABLE cron_runs;
DROP TABLE cron_jobs;
