-- +goose Up
-- Projection "task": the tasks that there are and were, what is delegated for them, and what is known of their files. A decision table. Where a
-- task stands is in tasks; what changes with every update of one is in task_work, in narrow rows that no index has. A place is a seq * 2^24, and
-- a number from 0 for what the same event says several of.
CREATE TABLE tasks (
  id                INTEGER PRIMARY KEY,  -- place of what made it known
  name              TEXT NOT NULL UNIQUE, -- of its stream, after task/: its id, or the hash of one that cannot stand in a name
  task_id           TEXT NOT NULL,        -- '' where name is its id
  agent             TEXT NOT NULL,        -- whose it is
  status            TEXT NOT NULL,        -- pending, pending_approval, in_progress, blocked, backlog, interrupted; completed, cancelled, abandoned, failed
  priority          TEXT NOT NULL,        -- urgent, high, medium, low
  rank              INTEGER NOT NULL,     -- of the priority: 0 is urgent
  due_at            INTEGER NOT NULL,     -- ms since 1970; 2^53 for none, and as with what follows for one that cannot be read
  start_at          INTEGER NOT NULL,     -- likewise
  created_at        INTEGER NOT NULL,     -- ms since 1970
  ended_at          INTEGER NOT NULL,     -- ms since 1970; 0: it has not ended
  over              INTEGER NOT NULL,     -- place of what ended it, or took its file away; 0: it is open
  over_at           INTEGER NOT NULL,     -- ms since 1970: when; 0: it is open
  month             TEXT NOT NULL,        -- of the history that has it, such as 2026-02; ''
  gone              INTEGER NOT NULL,     -- 1: it was known from a file that is not there any more
  own               INTEGER NOT NULL,     -- 1: it has events; 0: it is known from a file alone
  work_session_id   TEXT NOT NULL,        -- or ''
  previous_id       TEXT NOT NULL,        -- the work session that it belonged to before, or ''
  session_key       TEXT NOT NULL,        -- the session that has started it, or ''
  source            TEXT NOT NULL,        -- user, self, request:<agent>, ...; or ''
  created_by        TEXT NOT NULL,        -- the agent that put it into the backlog, or ''
  simple            INTEGER NOT NULL,     -- 1: it needs no steps
  description       TEXT NOT NULL,
  background        TEXT NOT NULL,        -- its context, or ''
  blocked_reason    TEXT NOT NULL,        -- or ''
  blocked_by        TEXT NOT NULL,        -- JSON: agents that can help, [agent, ...]
  blocked_action    TEXT NOT NULL,        -- what they are to do, or ''
  requests          INTEGER NOT NULL,     -- how often they were asked
  last_index        INTEGER NOT NULL,     -- which of them was asked last; -1: none
  last_asked_at     INTEGER NOT NULL,     -- ms since 1970; 0: never
  escalation        TEXT NOT NULL,        -- none, requesting, escalated, failed, or ''
  failures          INTEGER NOT NULL,     -- requests in a row that did not arrive
  assignee          TEXT NOT NULL,        -- or ''
  depends_on        TEXT NOT NULL,        -- JSON: ids of tasks, [id, ...]
  effort            TEXT NOT NULL,        -- small, medium, large, or ''
  start_date        TEXT NOT NULL,        -- as it was written, or ''
  due_date          TEXT NOT NULL,        -- likewise
  milestone_id      TEXT NOT NULL,        -- or ''
  milestone_item_id TEXT NOT NULL,        -- or ''
  reassigned        INTEGER NOT NULL,     -- how often it went back to the backlog
  outcome           TEXT NOT NULL,        -- JSON: {kind, summary, reason, by, error}; '' until it has ended
  carried           TEXT NOT NULL         -- JSON: what its file had on delegations before it had events, {delegations, events, summary}; ''
) STRICT;
CREATE INDEX tasks_open ON tasks (over, agent, status) WHERE over = 0; -- over makes it the better one of two
CREATE INDEX tasks_over ON tasks (over_at) WHERE over <> 0;
CREATE INDEX tasks_over_by_agent ON tasks (agent, over_at) WHERE over <> 0;
CREATE INDEX tasks_over_by_work_session ON tasks (work_session_id, over_at) WHERE over <> 0 AND work_session_id <> '';
CREATE INDEX tasks_by_month ON tasks (agent, month, over) WHERE month <> '';

CREATE TABLE task_work (
  id             INTEGER PRIMARY KEY, -- tasks.id
  version        INTEGER NOT NULL,    -- of its stream, by the last event that changed it; 0: it has none
  last_seq       INTEGER NOT NULL,    -- of that event
  active_at      INTEGER NOT NULL,    -- ms since 1970
  focus          INTEGER NOT NULL,    -- seq of the last event by which its agent has turned to it; 0: none
  steps          TEXT NOT NULL,       -- JSON: [{id, content, status, order}, ...] in order
  progress_count INTEGER NOT NULL,    -- lines
  progress       TEXT NOT NULL,       -- the last line, or ''
  first_line     INTEGER NOT NULL,    -- task_progress.id; 0: it has none
  last_line      INTEGER NOT NULL,    -- likewise
  line_sum       INTEGER NOT NULL     -- hash of all lines
) STRICT;

-- Lines of one time lie together, whichever tasks they are of; those of a task are a list that is linked from its end.
CREATE TABLE task_progress (
  id       INTEGER PRIMARY KEY, -- place
  task     INTEGER NOT NULL,    -- tasks.id
  n        INTEGER NOT NULL,    -- which line of it, from 1
  previous INTEGER NOT NULL,    -- the line before it; 0: it is the first
  at       INTEGER NOT NULL,    -- ms since 1970: when it was written, or seen
  text     TEXT NOT NULL
) STRICT;

CREATE TABLE task_delegations (
  id          INTEGER PRIMARY KEY,  -- seq of the event that made it
  name        TEXT NOT NULL UNIQUE, -- its id: the job of its first attempt
  task        INTEGER NOT NULL,     -- tasks.id
  agent       TEXT NOT NULL,        -- who does it
  from_agent  TEXT NOT NULL,        -- who has delegated it
  job_id      TEXT NOT NULL,        -- of the attempt under way, or of the last; as with what follows
  run_id      TEXT NOT NULL,
  child_key   TEXT NOT NULL,
  label       TEXT NOT NULL,        -- or ''
  work        TEXT NOT NULL,        -- what is to be done
  status      TEXT NOT NULL,        -- spawned, running, completed, failed, verified, rejected, retrying, abandoned
  retries     INTEGER NOT NULL,
  most        INTEGER NOT NULL,     -- retries that there may be
  snapshot    TEXT NOT NULL,        -- what came of it, or ''
  error       TEXT NOT NULL,        -- or ''
  note        TEXT NOT NULL,        -- of who has looked at it, or ''
  decided_by  TEXT NOT NULL,        -- or ''
  created_at  INTEGER NOT NULL,     -- ms since 1970
  ended_at    INTEGER NOT NULL,     -- ms since 1970; 0: an attempt is under way
  last_seq    INTEGER NOT NULL,     -- of the last event that changed it
  events      TEXT NOT NULL         -- JSON: what has happened to it, [{type, seq, at, note}, ...]
) STRICT;
CREATE INDEX task_delegations_by_task ON task_delegations (task);

CREATE TABLE task_files (
  path     TEXT PRIMARY KEY, -- workspace-<agent>/tasks/<id>.md, workspace-<agent>/CURRENT_TASK.md, workspace-<agent>/task-history/<month>.md
  sha256   TEXT NOT NULL,    -- that it has, or is going to have; '' if it is not there, or is to be removed
  previous TEXT NOT NULL,    -- that it had before it was written; ''
  through  INTEGER NOT NULL, -- of a month: seq of the end of the last task in it
  ours     INTEGER NOT NULL, -- 1: it was written by this gateway; 0: it was seen
  points   TEXT NOT NULL,    -- of a CURRENT_TASK.md that was seen: the task that it names, or ''
  seq      INTEGER NOT NULL  -- of the last event about it
) STRICT, WITHOUT ROWID;

CREATE VIEW v_agent_tasks AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, t.status, t.priority, t.description,
       nullif(t.background, '') AS context, nullif(t.source, '') AS source, t.simple,
       nullif(t.work_session_id, '') AS work_session_id, nullif(t.previous_id, '') AS previous_work_session_id,
       nullif(t.session_key, '') AS session_key, nullif(t.created_by, '') AS created_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at, t.created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', w.active_at / 1000.0, 'unixepoch') AS active_at, w.active_at AS active_ms,
       CASE WHEN t.ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', t.ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(t.ended_at, 0) AS ended_ms,
       t.over = 0 AS open,
       t.over = 0 AND t.status = 'in_progress' AND t.id = (SELECT o.id FROM tasks o JOIN task_work ow ON ow.id = o.id
         WHERE o.over = 0 AND o.agent = t.agent AND o.status = 'in_progress'
         ORDER BY ow.focus DESC, o.rank, o.due_at, o.start_at, o.created_at, o.id LIMIT 1) AS focus,
       json_array_length(w.steps) AS steps,
       (SELECT count(*) FROM json_each(w.steps) j WHERE j.value ->> '$.status' = 'done') AS steps_done,
       w.progress_count, nullif(w.progress, '') AS progress,
       nullif(t.blocked_reason, '') AS blocked_reason, nullif(t.blocked_by, '[]') AS blocked_by, nullif(t.blocked_action, '') AS blocked_action,
       nullif(t.escalation, '') AS escalation, t.requests,
       nullif(t.assignee, '') AS assignee, nullif(t.depends_on, '[]') AS depends_on, nullif(t.effort, '') AS effort,
       nullif(t.start_date, '') AS start_date, nullif(t.due_date, '') AS due_date,
       nullif(t.milestone_id, '') AS milestone_id, nullif(t.milestone_item_id, '') AS milestone_item_id, t.reassigned,
       nullif(t.outcome, '') ->> '$.kind' AS outcome,
       coalesce(nullif(t.outcome, '') ->> '$.summary', nullif(t.outcome, '') ->> '$.reason', nullif(t.outcome, '') ->> '$.error') AS outcome_text,
       nullif(t.outcome, '') ->> '$.by' AS outcome_by,
       nullif(t.month, '') AS history_month, t.gone AS file_gone, w.version, t.id >> 24 AS seq, w.last_seq
  FROM tasks t
  JOIN task_work w ON w.id = t.id;

CREATE VIEW v_task_steps AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, j.value ->> '$.id' AS step, j.value ->> '$.content' AS content,
       j.value ->> '$.status' AS status, j.key + 1 AS position
  FROM tasks t
  JOIN task_work w ON w.id = t.id
  JOIN json_each(w.steps) j;

CREATE VIEW v_task_progress AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, p.n, p.text,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.at / 1000.0, 'unixepoch') AS at, p.at AS at_ms, p.id >> 24 AS seq
  FROM task_progress p
  JOIN tasks t ON t.id = p.task
  JOIN task_work w ON w.id = t.id
 WHERE p.id >= w.first_line AND w.first_line > 0;

CREATE VIEW v_task_delegations AS
SELECT d.name AS delegation_id, CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, d.from_agent, d.agent AS to_agent, d.status,
       d.retries, d.most AS max_retries, nullif(d.label, '') AS label, nullif(d.work, '') AS task,
       nullif(d.job_id, '') AS job_id, nullif(d.run_id, '') AS run_id, nullif(d.child_key, '') AS child_session_key,
       nullif(d.snapshot, '') AS result, nullif(d.error, '') AS error, nullif(d.note, '') AS note, nullif(d.decided_by, '') AS decided_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.created_at / 1000.0, 'unixepoch') AS created_at, d.created_at AS created_ms,
       CASE WHEN d.ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(d.ended_at, 0) AS ended_ms, d.id AS seq, d.last_seq
  FROM task_delegations d
  JOIN tasks t ON t.id = d.task;

CREATE VIEW v_task_files AS
SELECT path, nullif(sha256, '') AS sha256, nullif(previous, '') AS previous_sha256, nullif(through, 0) AS through_seq, ours, seq
  FROM task_files;

-- +goose Down
DROP VIEW v_task_files;
DROP VIEW v_task_delegations;
DROP VIEW v_task_progress;
DROP VIEW v_task_steps;
DROP VIEW v_agent_tasks;
DROP TABLE task_files;
DROP TABLE task_delegations;
DROP TABLE task_progress;
DROP TABLE task_work;
DROP TABLE tasks;
