-- +goose Up
-- Where a run belongs: which exchange or delegation waits for it, and in which work session. The projection "run" is rebuilt to fill the
-- columns, because its version has changed.
ALTER TABLE runs ADD COLUMN job TEXT NOT NULL DEFAULT '';          -- the exchange or delegation that waits for it, or ''
ALTER TABLE runs ADD COLUMN work_session TEXT NOT NULL DEFAULT ''; -- ''
ALTER TABLE runs ADD COLUMN conversation TEXT NOT NULL DEFAULT ''; -- ''
ALTER TABLE runs ADD COLUMN parent_run TEXT NOT NULL DEFAULT '';   -- id of the run that has asked for it, or ''
CREATE INDEX runs_open_by_work_session ON runs (work_session, over_seq) WHERE over_seq = 0 AND work_session <> ''; -- over_seq makes it the better one of two
CREATE INDEX runs_by_work_session ON runs (work_session) WHERE work_session <> '';
CREATE INDEX runs_by_conversation ON runs (conversation) WHERE conversation <> '';
CREATE INDEX runs_by_job ON runs (job) WHERE job <> '';
CREATE INDEX runs_by_root ON runs (retry_of) WHERE retry_of <> '';

DROP VIEW v_runs;
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
       id AS seq, nullif(over_seq, 0) AS over_seq,
       nullif(job, '') AS job, nullif(work_session, '') AS work_session, nullif(conversation, '') AS conversation,
       nullif(parent_run, '') AS parent_run
  FROM runs;

-- +goose Down
DROP VIEW v_runs;
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
DROP INDEX runs_by_root;
DROP INDEX runs_by_job;
DROP INDEX runs_by_conversation;
DROP INDEX runs_by_work_session;
DROP INDEX runs_open_by_work_session;
ALTER TABLE runs DROP COLUMN parent_run;
ALTER TABLE runs DROP COLUMN conversation;
ALTER TABLE runs DROP COLUMN work_session;
ALTER TABLE runs DROP COLUMN job;
