-- +goose Up
-- Projection "continuation": how each agent was kept going. A decision table: what is done next is decided by state; the other columns say again
-- what people ask for most.
CREATE TABLE continuation (
  agent         TEXT PRIMARY KEY,
  failures      INTEGER NOT NULL, -- prompts in a row that have come to nothing
  cause         TEXT NOT NULL,    -- of the last one: rate_limit, billing, timeout, context_overflow, unknown, context_reset; ''
  backoff_until INTEGER NOT NULL, -- ms since 1970; 0: prompts do not pause
  last_seq      INTEGER NOT NULL, -- of the last event that changed it
  state         TEXT NOT NULL     -- JSON: all of it, with what was done for each task that is not over
) STRICT, WITHOUT ROWID;

CREATE VIEW v_continuation AS
SELECT c.agent, c.failures, nullif(c.cause, '') AS cause,
       CASE WHEN c.backoff_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', c.backoff_until / 1000.0, 'unixepoch') END AS backoff_until,
       nullif(c.backoff_until, 0) AS backoff_until_ms, nullif(c.state ->> '$.backoffMs', 0) AS backoff_ms,
       coalesce(c.state ->> '$.overflows', 0) AS overflows, c.state ->> '$.failedTask' AS failed_task_id, c.state ->> '$.failedRun' AS failed_run_id,
       c.state ->> '$.prompt.runId' AS prompt_run_id, c.state ->> '$.prompt.taskId' AS prompt_task_id, c.state ->> '$.prompt.reason' AS prompt_reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.prompt.at') / 1000.0, 'unixepoch') AS prompt_at, c.state ->> '$.prompt.at' AS prompt_ms,
       CASE WHEN c.state -> '$.prompt' IS NOT NULL THEN coalesce(c.state ->> '$.prompt.over', 0) END AS prompt_over,
       c.state ->> '$.ended.runId' AS ended_run_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.ended.at') / 1000.0, 'unixepoch') AS ended_at, c.state ->> '$.ended.at' AS ended_ms,
       CASE WHEN c.state -> '$.ended' IS NOT NULL THEN coalesce(c.state ->> '$.ended.ok', 0) END AS ended_ok,
       CASE WHEN c.state -> '$.ended' IS NOT NULL THEN coalesce(c.state ->> '$.ended.brokenOff', 0) END AS ended_by_restart,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.summaryAt') / 1000.0, 'unixepoch') AS summary_at, c.state ->> '$.summaryAt' AS summary_ms,
       (SELECT count(*) FROM json_each(c.state, '$.tasks')) AS tasks, coalesce(c.state ->> '$.decided', 0) AS decided, c.last_seq AS seq
  FROM continuation c;

CREATE VIEW v_continuation_tasks AS
SELECT c.agent, j.key AS task_id, coalesce(j.value ->> '$.prompts', 0) AS prompts, coalesce(j.value ->> '$.same', 0) AS same,
       j.value ->> '$.stepId' AS step, coalesce(j.value ->> '$.measured', 0) AS measured, coalesce(j.value ->> '$.defines', 0) AS defines,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.at') / 1000.0, 'unixepoch') AS prompt_at, j.value ->> '$.at' AS prompt_ms,
       coalesce(j.value ->> '$.escalated', 0) AS escalated, coalesce(j.value ->> '$.reminders', 0) AS reminders,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.remindedAt') / 1000.0, 'unixepoch') AS reminded_at, j.value ->> '$.remindedAt' AS reminded_ms,
       j.value ->> '$.asked' AS asked_job_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.askFailedAt') / 1000.0, 'unixepoch') AS ask_failed_at, j.value ->> '$.askFailedAt' AS ask_failed_ms,
       coalesce(j.value ->> '$.told', 0) AS told, c.last_seq AS seq
  FROM continuation c
  JOIN json_each(c.state, '$.tasks') j;

-- +goose Down
DROP VIEW v_continuation_tasks;
DROP VIEW v_continuation;
DROP TABLE continuation;
