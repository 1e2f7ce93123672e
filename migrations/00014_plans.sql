-- +goose Up
-- Projection "plan": the plans that agents have submitted, and what was decided about them. A decision table.
CREATE TABLE plans (
  id              INTEGER PRIMARY KEY,  -- seq of the event that made it known
  name            TEXT NOT NULL UNIQUE, -- of its stream, after plan/: its id, or the hash of one that cannot stand in a name
  plan_id         TEXT NOT NULL,        -- '' where name is its id
  agent           TEXT NOT NULL,        -- that has submitted it
  version         INTEGER NOT NULL,     -- of its stream, by the last event that changed it
  last_seq        INTEGER NOT NULL,     -- of that event
  task_id         TEXT NOT NULL,        -- that it is for; '' where that is not known any more
  work_session_id TEXT NOT NULL,        -- or ''
  session_key     TEXT NOT NULL,        -- the session that has submitted it, or ''
  title           TEXT NOT NULL,
  steps           TEXT NOT NULL,        -- JSON: [text, ...] in order
  steps_count     INTEGER NOT NULL,     -- how many there are, known or not
  tools           TEXT NOT NULL,        -- JSON: names of the tools that it asks for, [name, ...]
  status          TEXT NOT NULL,        -- pending, approved, rejected
  submitted_at    INTEGER NOT NULL,     -- ms since 1970
  decided_at      INTEGER NOT NULL,     -- ms since 1970; 0 while it is pending
  decided_by      TEXT NOT NULL,        -- the agent, or the person; ''
  reason          TEXT NOT NULL         -- why it was rejected, or ''
) STRICT;
CREATE INDEX plans_by_agent ON plans (agent);
CREATE INDEX plans_by_task ON plans (task_id, agent);
CREATE INDEX plans_by_work_session ON plans (work_session_id) WHERE work_session_id <> '';
CREATE INDEX plans_by_status ON plans (status);
CREATE INDEX plans_by_agent_and_status ON plans (agent, status);

CREATE VIEW v_plans AS
SELECT CASE plan_id WHEN '' THEN name ELSE plan_id END AS plan_id, agent, status, nullif(task_id, '') AS task_id,
       nullif(work_session_id, '') AS work_session_id, nullif(session_key, '') AS session_key, nullif(title, '') AS title,
       nullif(steps, '[]') AS steps, steps_count, nullif(tools, '[]') AS tools_requested,
       strftime('%Y-%m-%dT%H:%M:%fZ', submitted_at / 1000.0, 'unixepoch') AS submitted_at, submitted_at AS submitted_ms,
       CASE WHEN decided_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', decided_at / 1000.0, 'unixepoch') END AS decided_at,
       nullif(decided_at, 0) AS decided_ms, nullif(decided_by, '') AS decided_by, nullif(reason, '') AS reason, version, id AS seq, last_seq
  FROM plans;

-- +goose Down
DROP VIEW v_plans;
DROP TABLE plans;
