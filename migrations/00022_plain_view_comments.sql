-- +goose Up
-- Comments of views in plain words, with links to the pages of the handbook. What the views answer is unchanged.
DROP VIEW v_trouble;
DROP VIEW v_projections;
DROP VIEW v_category_changes;
DROP VIEW v_sessions;
DROP VIEW v_work;
DROP VIEW v_runs;
DROP VIEW v_work_sessions;
DROP VIEW v_conversations;
DROP VIEW v_agent_tasks;
DROP VIEW v_continuation;
DROP VIEW v_continuation_tasks;
DROP VIEW v_discord_threads;
DROP VIEW v_discord_participants;
DROP VIEW v_collaborations;
DROP VIEW v_collaboration_threads;

-- +goose StatementBegin
CREATE VIEW v_trouble ( -- One row per conversation that was not delivered or not answered: the rows of `v_conversations` that may need
  -- attention, found by an index.
  work_session, -- text: the work session it belongs to
  title, -- text: of that work session
  conversation, -- text: conversationId; NULL for a thread without one
  from_agent, -- text: of its earliest event
  to_agent, -- text: of its earliest event
  outcome, -- text: `blocked`: not delivered, or failed. `no_reply`: delivered, not answered
  reason, -- text: readable
  last_at, -- time: of its latest event
  last_ms -- time: of its latest event
) AS
SELECT w.name AS work_session, p.title, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.from_agent, t.to_agent,
       t.outcome, t.reason, strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms
  FROM threads t JOIN work_sessions w ON w.id = t.session_id JOIN session_profiles p ON p.id = t.session_id
 WHERE t.outcome IN ('blocked', 'no_reply');
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_projections ( -- State of the tables. See [operations](operations/troubleshoot.md#projections).
  name, -- text: `index`, `conversation`, `route`, `session`, `run`, `work`, `a2a`, `task`, `continuation`, `plan`, `routing`, `response`
  kind, -- text: `read-model`, `decision`
  version, -- text: of the fold and its rules, e.g. `2/v2`
  state, -- text: `live`, `parked`, `rebuilding`
  seq, -- integer: the tables contain the log up to this event
  behind, -- integer: events behind the head
  parked_seq, -- integer: the event that could not be applied; NULL unless parked
  parked_error -- text: why it could not be applied; NULL unless parked
) AS
SELECT name, kind, version, state, seq, (SELECT coalesce(max(seq), 0) FROM events) - seq AS behind, parked_seq, parked_error
  FROM projections;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_category_changes ( -- One row per change of a work session's category by an operator, through the API or the file of
  -- overrides. The session need not exist.
  work_session, -- text:
  category, -- text: the category that was set; NULL: the override was removed, and the vote of the events decides again
  updated_at, -- text: time of the change, as the API or the file states it
  updated_by, -- text: who changed it; NULL: no name given
  seq -- integer: of the event that records the change
) AS
SELECT c.name AS work_session, nullif(c.category, '') AS category, c.updated_at, nullif(c.updated_by, '') AS updated_by, c.seq
  FROM category_changes c;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_sessions ( -- One row per existing session of the gateway. Work sessions are something else: see
  -- [v_work_sessions](#v_work_sessions).
  key, -- text: e.g. `agent:eden:main`
  agent, -- text: empty for keys without an agent, such as `global`
  kind, -- text: `main`, `subagent`, `a2a`, `direct`, `group`, `channel`, `cron`, `acp`, `other`, `alias`
  session_id, -- text: of its current transcript
  label, -- text: unique among sessions, or NULL
  title, -- text: from the first message of a user in the transcript; empty until there is one
  spawned_by, -- text: key of the session that spawned it, or NULL
  settings, -- JSON: its own settings, by name
  messages, -- integer: in its current transcript
  last_role, -- text: author of the newest message
  last_text, -- text: beginning of the newest message: one line, at most 200 characters, secrets masked
  provider, -- text: of the newest answer, or NULL
  model, -- text: of the newest answer, or NULL
  input_tokens, -- integer: of the newest answer that reported token counts
  output_tokens, -- integer: of the newest answer that reported token counts
  total_tokens, -- integer: of the newest answer that reported token counts
  tokens_fresh, -- flag: the token counts belong to the current transcript
  last_channel, -- text: where the session was last addressed, or NULL
  last_to, -- text: where the session was last addressed, or NULL
  last_account, -- text: where the session was last addressed, or NULL
  last_thread, -- text: where the session was last addressed, or NULL
  aborted_last_run, -- flag: the newest answer was aborted
  created_at, -- time: of the event that created it
  created_ms, -- time: of the event that created it
  updated_at, -- time: of its newest change or message
  updated_ms, -- time: of its newest change or message
  seq -- integer: of the last event that changed it
) AS
SELECT key, agent, kind, session_id, nullif(label, '') AS label, title, nullif(spawner, '') AS spawned_by,
       CASE settings WHEN '' THEN '{}' ELSE settings END AS settings, messages, last_role, last_text, nullif(provider, '') AS provider,
       nullif(model, '') AS model, input_tokens, output_tokens, total_tokens, tokens_fresh, nullif(last_channel, '') AS last_channel,
       nullif(last_to, '') AS last_to, nullif(last_account, '') AS last_account, nullif(last_thread, '') AS last_thread,
       aborted AS aborted_last_run,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at, updated_at AS updated_ms, seq
  FROM sessions;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_work ( -- One row per work item outside the log that is not done: waiting, in progress or given up. Finished items are
  -- removed. Items are runs of agents, flows between agents, and sessions of sub-agents to be deleted.
  effect_id, -- text: unique, never reused; `run/<run id>` for a run, `job/<job id>` for a flow
  kind, -- text: `run`: a run of an agent; `job`: a flow between agents; `subagent_cleanup`: the deletion of a sub-agent's session
  key, -- text: items with the same key are done one after the other; for a run the key of its session
  pool, -- text: limits how much is done at a time: for a run its lane, else `a2a`. Flows wait there by design
  owner, -- text: the agent, or NULL
  state, -- text: `waiting`, `leased`, `dead`
  attempt, -- integer: number of attempts
  max_attempts, -- integer: the most attempts allowed; NULL: the limit of its kind
  error, -- text: of the last failed attempt, or NULL
  since, -- time: when it was requested
  since_ms, -- time: when it was requested
  due_at, -- time: not started before this time; NULL: at once
  due_ms, -- time: not started before this time; NULL: at once
  lease_until, -- time: when the lease expires; NULL: not leased, or no expiry
  lease_until_ms, -- time: when the lease expires; NULL: not leased, or no expiry
  seq -- integer: of the event that requested it; `v_events` has its data
) AS
SELECT effect_id, kind, key, pool, nullif(owner, '') AS owner, state, attempt, nullif(most, 0) AS max_attempts, nullif(error, '') AS error,
       strftime('%Y-%m-%dT%H:%M:%fZ', since / 1000.0, 'unixepoch') AS since, since AS since_ms,
       CASE WHEN due_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') END AS due_at, nullif(due_at, 0) AS due_ms,
       CASE WHEN lease_until > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1000.0, 'unixepoch') END AS lease_until,
       nullif(lease_until, 0) AS lease_until_ms, seq
  FROM work;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_runs ( -- One row per run of an agent: a message and its outcome. The tables of runs and work contain what this system did,
  -- not imported events.
  run_id, -- text: the idempotency key of the request. If the key cannot be part of a stream name, the stream has its hash instead
  session_key, -- text: the session, or NULL
  session_id, -- text: its transcript, or the one it was meant for, or NULL
  agent, -- text: or NULL
  lane, -- text: `main`, `nested`, `subagent`
  cause, -- text: who requested it: `agent`, `chat`, `http`, `a2a`, `spawn`, `subagent`, ...
  state, -- text: `queued`, `running`, `ok`, `error`, `aborted`, `timed_out`
  retry_of, -- text: the first run, if this one repeats it; else NULL
  queued_at, -- time:
  queued_ms, -- time:
  started_at, -- time: NULL: not yet, or never
  started_ms, -- time: NULL: not yet, or never
  ended_at, -- time: NULL: not yet, or never
  ended_ms, -- time: NULL: not yet, or never
  provider, -- text: of the last answer, or NULL
  model, -- text: of the last answer, or NULL
  stop_reason, -- text: if `ok`: `stop`, `length`, `filtered`
  reason, -- text: if `aborted`: `rpc`, `stop`, `reset`, `delete`, `restart`, `shutdown`
  error_class, -- text: if `error`: see [operations](operations/agents.md#when-a-model-fails)
  input_tokens, -- integer: of all its model calls; 0 if not counted
  output_tokens, -- integer: of all its model calls; 0 if not counted
  total_tokens, -- integer: of all its model calls; 0 if not counted
  model_calls, -- integer:
  tool_calls, -- integer:
  seq, -- integer: of the event that queued it. `v_events` has the message and the answer
  over_seq, -- integer: of the event that ended it, or NULL
  job, -- text: the [flow](#v_a2a_jobs) that waits for it, or NULL
  work_session, -- text: the one it belongs to, or NULL
  conversation, -- text: the one it belongs to, or NULL
  parent_run -- text: the run that requested it, by a message or by starting it, or NULL
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_work_sessions ( -- One row per work session.
  work_session, -- text: workSessionId
  title, -- text: the title of its first task, else a label, else a stated goal, else the first message that yields a title; `협업 작업` if none
    -- does
  started_at, -- time: of its earliest event
  start_ms, -- time: of its earliest event
  last_at, -- time: of its latest event
  last_ms, -- time: of its latest event
  status, -- text: `ARCHIVED`: no event for more than 24 hours. `QUIET`: the latest event ends something, and no conversation, child run,
    -- task in progress, flow or run is open. Else `ACTIVE`. Depends on the reader's clock
  outcome, -- text: `blocked` if a thread or task is; else `no_reply`, `waiting`, `active` if a thread, task, flow or run is; else `done`
  reason, -- text: why it is blocked or unanswered, from the thread or task that failed last; else empty
  category, -- text: set by an operator, else by vote of its events
  event_count, -- integer:
  thread_count, -- integer:
  open_threads, -- integer: conversations and child runs that have not ended, or have an unfinished flow
  open_tasks, -- integer: tasks in progress
  blocked_tasks, -- integer: tasks blocked
  conversation_events, -- integer: events by role
  delegation_events, -- integer: events by role
  orchestration_events, -- integer: events by role
  observability_events, -- integer: events by role
  participants, -- text: agents, separated by commas; the first 64
  previous_work_session, -- text: the one it continues, or NULL
  category_source, -- text: `manual_override`: set by an operator. `event`: by vote
  category_updated_at, -- text: when an operator set it; NULL if none did
  category_updated_by, -- text: who set it; NULL: no operator, or no name given
  open_flows, -- integer: unfinished flows between our own agents; 0 in an imported log
  open_runs -- integer: unfinished runs of our own agents; 0 in an imported log
) AS
SELECT s.name AS work_session, p.title,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.start_time / 1000.0, 'unixepoch') AS started_at, s.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.last_time / 1000.0, 'unixepoch') AS last_at, s.last_time AS last_ms,
       CASE WHEN (julianday('now') - 2440587.5) * 86400000.0 - s.last_time > 86400000.0 THEN 'ARCHIVED'
            WHEN s.latest_terminal AND s.open_threads = 0 AND s.open_tasks = 0 AND s.open_flows = 0 AND s.open_runs = 0 THEN 'QUIET'
            ELSE 'ACTIVE' END AS status,
       s.outcome,
       CASE WHEN s.outcome IN ('blocked', 'no_reply') THEN coalesce(
         (SELECT t.reason FROM threads t WHERE t.session_id = s.id AND t.outcome = s.outcome AND t.reason <> ''
           ORDER BY t.step_time DESC, t.step_seq DESC LIMIT 1),
         (SELECT k.reason FROM session_tasks k WHERE k.session_id = s.id AND k.state = 'blocked'
           ORDER BY k.time DESC, k.seq DESC LIMIT 1), '') ELSE '' END AS reason,
       s.category, s.event_count, s.thread_count, s.open_threads + s.reopened AS open_threads, s.open_tasks, s.blocked_tasks,
       s.conversation_n AS conversation_events, s.delegation_n AS delegation_events, s.orchestration_n AS orchestration_events,
       s.observability_n AS observability_events,
       (SELECT group_concat(j.value ->> '$.agent', ', ') FROM json_each(p.participants) j) AS participants,
       nullif(p.previous, '') AS previous_work_session,
       CASE WHEN o.category <> '' THEN 'manual_override' ELSE 'event' END AS category_source,
       CASE WHEN o.category <> '' THEN o.updated_at END AS category_updated_at,
       CASE WHEN o.category <> '' THEN nullif(o.updated_by, '') END AS category_updated_by,
       s.open_flows, s.open_runs
  FROM (SELECT *, CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
                       WHEN waiting_n > 0 OR waits THEN 'waiting'
                       WHEN active_n > 0 OR open_tasks > 0 OR open_flows > 0 OR open_runs > 0 THEN 'active'
                       WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END AS outcome
          FROM (SELECT w.*,
                       (SELECT count(*) FROM a2a_jobs f WHERE f.work_session_id = w.name AND f.over_seq = 0) AS open_flows,
                       (SELECT count(*) FROM runs r WHERE r.work_session = w.name AND r.work_session <> '' AND r.over_seq = 0) AS open_runs,
                       (SELECT count(DISTINCT t.id) FROM a2a_jobs f JOIN threads t ON t.session_id = w.id AND t.key = 'conv:' || f.conversation_id
                         WHERE f.work_session_id = w.name AND f.over_seq = 0 AND f.conversation_id <> '' AND NOT t.open) AS reopened,
                       EXISTS (SELECT 1 FROM a2a_jobs f JOIN threads t ON t.session_id = w.id AND t.key = 'conv:' || f.conversation_id
                         WHERE f.work_session_id = w.name AND f.over_seq = 0 AND f.conversation_id <> ''
                           AND f.phase IN ('dispatching', 'waiting') AND t.outcome = 'done') AS waits
                  FROM work_sessions w)) s
  JOIN session_profiles p ON p.id = s.id
  LEFT JOIN category_overrides o ON o.name = s.name;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_conversations ( -- One row per thread of a work session: a conversation, else a pair of agents, else events of one type within
  -- five minutes.
  work_session, -- text:
  conversation, -- text: conversationId; NULL for the other threads
  thread, -- text: `conv:<conversationId>`, `pair:<agent>_<agent>` or `event:<type>:<number>`
  from_agent, -- text: of its earliest event; `unknown` if that names none
  to_agent, -- text: of its earliest event; `unknown` if that names none
  outcome, -- text: `waiting`, `active`, `blocked`, `no_reply`, `done`; empty without a question. While one of our flows is open, `waiting`
    -- or `active` instead of `done`
  open, -- flag: it has not ended, or one of our flows in it has not
  reason, -- text: why it is blocked or unanswered; else empty
  category, -- text: by vote of its events
  event_count, -- integer:
  started_at, -- time: of its earliest event
  start_ms, -- time: of its earliest event
  last_at, -- time: of its latest event
  last_ms, -- time: of its latest event
  parent_conversation, -- text: or NULL
  open_flows -- integer: unfinished flows between our own agents
) AS
SELECT t.work_session, t.conversation, t.thread, t.from_agent, t.to_agent,
       CASE WHEN t.outcome <> 'done' OR t.open_flows = 0 THEN t.outcome WHEN t.waiting_flows > 0 THEN 'waiting' ELSE 'active' END AS outcome,
       t.open OR t.open_flows > 0 AS open, t.reason, t.category, t.event_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.start_ms / 1000.0, 'unixepoch') AS started_at, t.start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.last_ms / 1000.0, 'unixepoch') AS last_at, t.last_ms,
       t.parent_conversation, t.open_flows
  FROM (SELECT w.name AS work_session, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.key AS thread,
               t.from_agent, t.to_agent, t.outcome, t.open, t.reason, t.category, t.event_count, t.start_time AS start_ms, t.last_time AS last_ms,
               nullif(t.parent_id, '') AS parent_conversation,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%') AS open_flows,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%' AND f.phase IN ('dispatching', 'waiting')) AS waiting_flows
          FROM threads t JOIN work_sessions w ON w.id = t.session_id) t;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_agent_tasks ( -- One row per task of an agent, open or finished: tasks of our own agents, and those in task files that another
  -- gateway keeps or kept. Imported logs change nothing here; their tasks are in files.
  task_id, -- text: the task
  agent, -- text: its owner
  status, -- text: `backlog`, `pending`, `pending_approval`, `in_progress`, `blocked`, `interrupted`; `completed`, `cancelled`, `abandoned`,
    -- `failed`. Only task files have `pending` and `abandoned`
  priority, -- text: `urgent`, `high`, `medium`, `low`
  description, -- text: what to do
  context, -- text: background information, or NULL
  source, -- text: `self`, `user`, `request:<agent>`, or NULL
  simple, -- flag: it needs no steps
  work_session_id, -- text: the work session, or NULL
  previous_work_session_id, -- text: the one it continues, or NULL
  session_key, -- text: the session that started or picked it, or NULL
  created_by, -- text: who added it to the backlog, or NULL
  created_at, -- time: when it was started, or added to the backlog
  created_ms, -- time: when it was started, or added to the backlog
  active_at, -- time: when it last changed
  active_ms, -- time: when it last changed
  ended_at, -- time: when it ended, or NULL
  ended_ms, -- time: when it ended, or NULL
  open, -- flag: it is not finished, nor known only from a file that no longer exists
  focus, -- flag: its agent works on it: of its tasks in progress, the one it turned to last
  steps, -- integer: number of steps. See [v_task_steps](#v_task_steps)
  steps_done, -- integer: number of steps done
  progress_count, -- integer: number of progress lines
  progress, -- text: the last progress line, or NULL
  blocked_reason, -- text: what it waits for; NULL if not blocked
  blocked_by, -- JSON: list of the agents that can help; NULL if not blocked
  blocked_action, -- text: what those agents should do; NULL if not blocked
  escalation, -- text: `none`, `requesting`, `escalated`, `failed`, or NULL
  requests, -- integer: how often those agents were asked for help
  assignee, -- text: the agent it was added for, or NULL
  depends_on, -- JSON: ids of the tasks it depends on, or NULL
  effort, -- text: as given, or NULL
  start_date, -- text: as given, or NULL
  due_date, -- text: as given, or NULL
  milestone_id, -- text: as given, or NULL
  milestone_item_id, -- text: as given, or NULL
  reassigned, -- integer: how often it returned to the backlog after inactivity
  outcome, -- text: `completed`, `cancelled`, `interrupted`, `error`; NULL until it ends
  outcome_text, -- text: the summary, reason or error; NULL until it ends
  outcome_by, -- text: who decided the outcome, if not the owner; else NULL
  history_month, -- text: month of the history file that lists it, e.g. `2026-02`, or NULL
  file_gone, -- flag: it was known from a file that no longer exists
  version, -- integer: of its stream after the last event that changed it, as `version` of the tools expects; 0: known only from a file
  seq, -- integer: of the first event about it
  last_seq -- integer: of the last event that changed it
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_continuation ( -- One row per agent that was prompted to continue, or had a run in its main session: its last prompt, or why
  -- it gets none now. `openclawd continuation explain AGENT` shows the next step.
  agent, -- text:
  failures, -- integer: failed prompts in a row
  cause, -- text: of the last failure: `rate_limit`, `timeout`, `unknown`, `context_overflow`, `billing`, `auth`; `context_reset` after its
    -- session was reset; or NULL
  backoff_until, -- time: prompts pause until then; may be in the past; or NULL
  backoff_until_ms, -- time: prompts pause until then; may be in the past; or NULL
  backoff_ms, -- integer: length of the pause, or NULL
  overflows, -- integer: failures in a row because the context was too long
  failed_task_id, -- text: of the last failure, or NULL
  failed_run_id, -- text: of the last failure, or NULL
  prompt_run_id, -- text: the run of the last prompt to the agent, or NULL
  prompt_task_id, -- text: the task of that prompt, or NULL
  prompt_reason, -- text: [why](events.md#what-keeps-agents-going) it was sent, or NULL
  prompt_at, -- time: when it was requested, or NULL
  prompt_ms, -- time: when it was requested, or NULL
  prompt_over, -- flag: its run has ended; NULL without a prompt
  ended_run_id, -- text: the last ended run of the main session, whatever requested it; or NULL
  ended_at, -- time: when that run ended, or NULL
  ended_ms, -- time: when that run ended, or NULL
  ended_ok, -- flag: it succeeded; NULL without such a run
  ended_by_restart, -- flag: a restart interrupted it; NULL without such a run
  summary_at, -- time: when the agent was last notified of a restart, or NULL
  summary_ms, -- time: when the agent was last notified of a restart, or NULL
  tasks, -- integer: number of tasks with continuation steps: see [v_continuation_tasks](#v_continuation_tasks)
  decided, -- integer: number of decisions about the agent
  seq -- integer: of the last event that changed this row
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_continuation_tasks ( -- One row per task with continuation steps since it was last started, blocked or resumed. A finished
  -- task has none.
  agent, -- text:
  task_id, -- text:
  prompts, -- integer: prompts to continue it since its last progress
  same, -- integer: prompts in a row at the same step
  step, -- text: its step when the last prompt was sent, or NULL
  measured, -- integer: progress at that time: steps done or skipped, or lines of progress if it has no steps
  defines, -- integer: prompts to define steps
  prompt_at, -- time: of the last prompt, or NULL
  prompt_ms, -- time: of the last prompt, or NULL
  escalated, -- integer: number of the prompt that asked what blocks it; 0: none
  reminders, -- integer: how often the agent was asked whether it is still blocked, since the last request for help
  reminded_at, -- time: when it was last asked, or NULL
  reminded_ms, -- time: when it was last asked, or NULL
  asked_job_id, -- text: the flow of the last request for help, unless its delivery failed; or NULL
  ask_failed_at, -- time: when the delivery of a request failed, or NULL
  ask_failed_ms, -- time: when the delivery of a request failed, or NULL
  told, -- flag: no more agents are asked; the lead or people were notified
  seq -- integer: as in [v_continuation](#v_continuation)
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_discord_threads ( -- One row per thread with events in the log.
  thread_id, -- text: the thread, or the channel
  channel_id, -- text: its parent channel; NULL if unknown
  guild_id, -- text: the server; NULL if unknown
  name, -- text: of a thread opened by this system, else NULL
  kind, -- text: of a thread opened by this system: `collab`, `report`; else NULL
  report_of, -- text: of a report thread: the conversation between agents it reports on; NULL: none, or no longer
  participants, -- integer: agents that have not left according to the log, including those no longer active after a long silence
  last_message_id, -- text: the newest message with a decision, or NULL
  last_at, -- time: last message there, or registration
  last_ms, -- time: last message there, or registration
  suspended_until, -- time: bots are suspended there until then, or NULL
  suspended_until_ms, -- time: bots are suspended there until then, or NULL
  suspended_for, -- text: `bot_rate`, `bot_turns`, or NULL
  seq -- integer: of the first event about it
) AS
SELECT p.place_id AS thread_id, nullif(p.channel_id, '') AS channel_id, nullif(p.guild_id, '') AS guild_id, nullif(p.name, '') AS name,
       nullif(p.kind, '') AS kind, nullif(p.report_of, '') AS report_of,
       (SELECT count(*) FROM discord_participants a WHERE a.thread_id = p.place_id AND a.left_at = 0) AS participants,
       nullif(p.last_id, '') AS last_message_id,
       CASE WHEN p.last_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.last_at / 1000.0, 'unixepoch') END AS last_at, nullif(p.last_at, 0) AS last_ms,
       CASE WHEN p.suspended_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.suspended_until / 1000.0, 'unixepoch') END AS suspended_until,
       nullif(p.suspended_until, 0) AS suspended_until_ms, nullif(p.suspended_for, '') AS suspended_for, p.seq
  FROM discord_places p
 WHERE p.thread = 1;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_discord_participants ( -- One row per thread and agent that takes part in it, or did.
  thread_id, -- text:
  agent, -- text:
  bot_user_id, -- text: its Discord user, or NULL
  reason, -- text: `collaborate`, `mentioned`, `posted`; NULL once redacted
  since, -- time:
  since_ms, -- time:
  left_at, -- time: when it left according to the log, or NULL
  left_ms, -- time: when it left according to the log, or NULL
  last_at, -- time: last message in the thread
  last_ms, -- time: last message in the thread
  seq -- integer: of the event that registered it
) AS
SELECT a.thread_id, a.agent, nullif(a.bot_user_id, '') AS bot_user_id, nullif(a.reason, '') AS reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.since / 1000.0, 'unixepoch') AS since, a.since AS since_ms,
       CASE WHEN a.left_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', a.left_at / 1000.0, 'unixepoch') END AS left_at, nullif(a.left_at, 0) AS left_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(p.last_at, 0) / 1000.0, 'unixepoch') AS last_at, nullif(p.last_at, 0) AS last_ms, a.seq
  FROM discord_participants a LEFT JOIN discord_places p ON p.place_id = a.thread_id;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_collaborations ( -- One row per request from one agent to another in Discord, with its outcome.
  collab_id, -- text: the request
  from_agent, -- text: who asked, in lower case
  to_agent, -- text: who was asked, in lower case; NULL if redacted
  delivery, -- text: `accepted`: in progress; `sent`, `failed`, `delivery_unknown`
  code, -- text: why it was not delivered, as a code, or NULL
  error, -- text: why it was not delivered, as text, or NULL
  status, -- text: if it expects an answer: `pending`, `responded`, `escalated`, `responded_late`, `failed`; else NULL
  reason, -- text: why its thread no longer accepts posts, as a code, or NULL
  mode, -- text: how its thread was chosen: `named_thread`, `shared_thread`, `reuse_thread`, `new_thread`
  thread_id, -- text: the thread it is or will be posted in, or NULL
  thread_name, -- text: its name, or NULL
  channel_id, -- text: the channel of the thread, or NULL
  guild_id, -- text: the server, or NULL
  message, -- text: the request, without secrets, at most 500 characters
  message_ids, -- JSON: ids of its messages in Discord, in order; NULL until it is sent
  account_id, -- text: whose bot asked; NULL until it is sent
  session_key, -- text: the session that asked, or NULL
  run_id, -- text: the run that asked, or NULL
  work_session_id, -- text: the one it belongs to, or NULL
  task_id, -- text: the one it belongs to, or NULL
  hop, -- integer: how often its cause was passed on between agents, including this request, or NULL
  accepted_at, -- time: when it was accepted
  accepted_ms, -- time: when it was accepted
  sent_at, -- time: when it was posted in the thread, or NULL
  sent_ms, -- time: when it was posted in the thread, or NULL
  step, -- integer: the last step taken without an answer: 1 and 2 are reminders, the last one the escalation; 0: none
  last_attempt_at, -- time: of that step, or of the failure; or NULL
  last_attempt_ms, -- time: of that step, or of the failure; or NULL
  responded_at, -- time: when it was answered, or NULL
  responded_ms, -- time: when it was answered, or NULL
  answer_message_id, -- text: the message that answered it, `redacted` if that is redacted, or NULL
  response_ms, -- integer: time until the answer in ms, or NULL
  version, -- integer: of its stream
  seq, -- integer: of the first event about it
  last_seq -- integer: of the last event about it
) AS
SELECT CASE collab_id WHEN '' THEN name ELSE collab_id END AS collab_id, nullif(from_agent, '') AS from_agent, nullif(target_agent, '') AS to_agent,
       delivery, nullif(code, '') AS code, nullif(error, '') AS error, nullif(status, '') AS status, json_extract(request, '$.reason') AS reason, nullif(route, '') AS mode,
       nullif(thread_id, '') AS thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, nullif(guild_id, '') AS guild_id,
       json_extract(request, '$.originalMessage') AS message, json_extract(request, '$.messageIds') AS message_ids,
       nullif(json_extract(request, '$.fromAccountId'), '') AS account_id, nullif(session_key, '') AS session_key, nullif(run_id, '') AS run_id,
       nullif(work_session_id, '') AS work_session_id, json_extract(request, '$.taskId') AS task_id, nullif(hop, 0) AS hop,
       CASE WHEN accepted_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', accepted_at / 1000.0, 'unixepoch') END AS accepted_at,
       nullif(accepted_at, 0) AS accepted_ms,
       CASE WHEN sent_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', sent_at / 1000.0, 'unixepoch') END AS sent_at, nullif(sent_at, 0) AS sent_ms,
       coalesce(json_extract(request, '$.step'), 0) AS step,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(request, '$.lastAttemptAt') / 1000.0, 'unixepoch') AS last_attempt_at,
       json_extract(request, '$.lastAttemptAt') AS last_attempt_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(request, '$.respondedAt') / 1000.0, 'unixepoch') AS responded_at,
       json_extract(request, '$.respondedAt') AS responded_ms, json_extract(request, '$.answerId') AS answer_message_id,
       json_extract(request, '$.respondedAt') - nullif(sent_at, 0) AS response_ms, version, id AS seq, last_seq
  FROM collaborations;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_collaboration_threads ( -- One row per thread opened for requests from one agent to another. The row is removed once Discord
  -- no longer knows the thread. A thread unused for `threadReuseTTL` is not reused.
  reuse_key, -- text: `<from>:<to>`, with the topic if there is one
  from_agent, -- text: who asks there; the other direction has threads of its own
  to_agent, -- text: who is asked
  thread_id, -- text: the thread
  thread_name, -- text: its name
  channel_id, -- text: its channel
  messages, -- integer: number of request messages in it
  created_at, -- time:
  created_ms, -- time:
  last_used_at, -- time:
  last_used_ms, -- time:
  seq -- integer: of the event that opened it
) AS
SELECT reuse_key, substr(direction, 1, instr(direction, ':') - 1) AS from_agent, substr(direction, instr(direction, ':') + 1) AS to_agent,
       thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, messages,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_used_at / 1000.0, 'unixepoch') AS last_used_at, last_used_at AS last_used_ms, seq
  FROM collaboration_threads;
-- +goose StatementEnd

-- +goose Down
DROP VIEW v_trouble;
DROP VIEW v_projections;
DROP VIEW v_category_changes;
DROP VIEW v_sessions;
DROP VIEW v_work;
DROP VIEW v_runs;
DROP VIEW v_work_sessions;
DROP VIEW v_conversations;
DROP VIEW v_agent_tasks;
DROP VIEW v_continuation;
DROP VIEW v_continuation_tasks;
DROP VIEW v_discord_threads;
DROP VIEW v_discord_participants;
DROP VIEW v_collaborations;
DROP VIEW v_collaboration_threads;

-- +goose StatementBegin
CREATE VIEW v_trouble ( -- The conversations that were not delivered or not answered, and only those: the rows of `v_conversations` that may need attention.
  -- An index finds them.
  work_session, -- text: the session that it belongs to
  title, -- text: of that session
  conversation, -- text: conversationId; NULL for a thread without one
  from_agent, -- text: of its earliest event
  to_agent, -- text: of its earliest event
  outcome, -- text: `blocked`: not delivered, or failed. `no_reply`: delivered, no answer came
  reason, -- text: readable
  last_at, -- time: of its latest event
  last_ms -- time: of its latest event
) AS
SELECT w.name AS work_session, p.title, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.from_agent, t.to_agent,
       t.outcome, t.reason, strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms
  FROM threads t JOIN work_sessions w ON w.id = t.session_id JOIN session_profiles p ON p.id = t.session_id
 WHERE t.outcome IN ('blocked', 'no_reply');
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_projections ( -- Where the tables stand. See [operations](operations.md#projections).
  name, -- text: `index`, `conversation`, `route`, `session`, `run`, `a2a`, `work`, `task`
  kind, -- text: `read-model`, `decision`
  version, -- text: of the fold and its rules, e.g. `2/v2`
  state, -- text: `live`, `parked`, `rebuilding`
  seq, -- integer: the tables reflect the log up to here
  behind, -- integer: events behind the head
  parked_seq, -- integer: the event that could not be applied; NULL unless parked
  parked_error -- text: why; NULL unless parked
) AS
SELECT name, kind, version, state, seq, (SELECT coalesce(max(seq), 0) FROM events) - seq AS behind, parked_seq, parked_error
  FROM projections;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_category_changes ( -- One row per word of an operator on the category of a work session, over the API or in the file of overrides. The session need not exist.
  work_session, -- text:
  category, -- text: what was said; NULL: it was taken back, the vote decides again
  updated_at, -- text: when, as the operator's side tells it
  updated_by, -- text: who; NULL where no name was given
  seq -- integer: of the event that says so
) AS
SELECT c.name AS work_session, nullif(c.category, '') AS category, c.updated_at, nullif(c.updated_by, '') AS updated_by, c.seq
  FROM category_changes c;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_sessions ( -- One row per session of the gateway that there is. A work session is something else: see [v_work_sessions](#v_work_sessions).
  key, -- text: e.g. `agent:eden:main`
  agent, -- text: empty for the keys that name none, as `global`
  kind, -- text: `main`, `subagent`, `a2a`, `direct`, `group`, `channel`, `cron`, `acp`, `other`, `alias`
  session_id, -- text: of its present transcript
  label, -- text: or NULL; no two sessions have the same
  title, -- text: from the first thing that a user said in the transcript; empty before that
  spawned_by, -- text: key of the session that has spawned it, or NULL
  settings, -- JSON: what is set for it, by name
  messages, -- integer: in its present transcript
  last_role, -- text: author of the newest message
  last_text, -- text: how that begins: one line, at most 200 characters, secrets masked
  provider, -- text: of the newest answer, or NULL
  model, -- text: of the newest answer, or NULL
  input_tokens, -- integer: of the newest answer that said so
  output_tokens, -- integer: of the newest answer that said so
  total_tokens, -- integer: of the newest answer that said so
  tokens_fresh, -- flag: they are of the present transcript
  last_channel, -- text: where it was last spoken to, or NULL
  last_to, -- text: where it was last spoken to, or NULL
  last_account, -- text: where it was last spoken to, or NULL
  last_thread, -- text: where it was last spoken to, or NULL
  aborted_last_run, -- flag: the newest answer was broken off
  created_at, -- time: of the event that made it
  created_ms, -- time: of the event that made it
  updated_at, -- time: of its newest change or message
  updated_ms, -- time: of its newest change or message
  seq -- integer: of the event that changed it last
) AS
SELECT key, agent, kind, session_id, nullif(label, '') AS label, title, nullif(spawner, '') AS spawned_by,
       CASE settings WHEN '' THEN '{}' ELSE settings END AS settings, messages, last_role, last_text, nullif(provider, '') AS provider,
       nullif(model, '') AS model, input_tokens, output_tokens, total_tokens, tokens_fresh, nullif(last_channel, '') AS last_channel,
       nullif(last_to, '') AS last_to, nullif(last_account, '') AS last_account, nullif(last_thread, '') AS last_thread,
       aborted AS aborted_last_run,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at, updated_at AS updated_ms, seq
  FROM sessions;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_work ( -- One row per thing that has still to be done outside of the log: it waits, is under way, or was given up. What is done has left. These are
  -- the runs of agents, the flows between them, and the sessions of sub-agents that are to be taken away.
  effect_id, -- text: unique for ever; `run/<run id>` for a run, `job/<job id>` for a flow
  kind, -- text: who does it; `run` is an agent, `job` the coordinator, `subagent_cleanup` takes a session away
  key, -- text: what has the same is done one after the other; of a run the key of its session
  pool, -- text: bounds how much is done at a time; of a run its lane, of the rest `a2a`. Flows wait there on purpose
  owner, -- text: the agent, or NULL
  state, -- text: `waiting`, `leased`, `dead`
  attempt, -- integer: how many have started
  max_attempts, -- integer: how many may be; NULL: as its kind has it
  error, -- text: of the newest attempt that failed, or NULL
  since, -- time: when it was asked for
  since_ms, -- time: when it was asked for
  due_at, -- time: not before; NULL: at once
  due_ms, -- time: not before; NULL: at once
  lease_until, -- time: when it is taken away from its worker; NULL: it is not leased, or for ever
  lease_until_ms, -- time: when it is taken away from its worker; NULL: it is not leased, or for ever
  seq -- integer: of the event that asked for it: `v_events` has its data
) AS
SELECT effect_id, kind, key, pool, nullif(owner, '') AS owner, state, attempt, nullif(most, 0) AS max_attempts, nullif(error, '') AS error,
       strftime('%Y-%m-%dT%H:%M:%fZ', since / 1000.0, 'unixepoch') AS since, since AS since_ms,
       CASE WHEN due_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') END AS due_at, nullif(due_at, 0) AS due_ms,
       CASE WHEN lease_until > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1000.0, 'unixepoch') END AS lease_until,
       nullif(lease_until, 0) AS lease_until_ms, seq
  FROM work;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_runs ( -- One row per run of an agent: a message, and what came of it. The tables of runs and of work are made of what this system did; imported
  -- events are not in them.
  run_id, -- text: the idempotency key under which it was asked for; the hash of one that cannot stand in a stream's name is found in the stream,
    -- not here
  session_key, -- text: the session, or NULL
  session_id, -- text: the transcript that it speaks in, or was meant for, or NULL
  agent, -- text: or NULL
  lane, -- text: `main`, `nested`, `subagent`
  cause, -- text: who asked: `agent`, `chat`, `http`, `a2a`, `spawn`, `subagent`, ...
  state, -- text: `queued`, `running`, `ok`, `error`, `aborted`, `timed_out`
  retry_of, -- text: the run that was asked for at first, where this one repeats it; else NULL
  queued_at, -- time:
  queued_ms, -- time:
  started_at, -- time: NULL: not yet, or never
  started_ms, -- time: NULL: not yet, or never
  ended_at, -- time: NULL: not yet, or never
  ended_ms, -- time: NULL: not yet, or never
  provider, -- text: that answered last, or NULL
  model, -- text: that answered last, or NULL
  stop_reason, -- text: of `ok`: `stop`, `length`, `filtered`
  reason, -- text: of `aborted`: `rpc`, `stop`, `reset`, `delete`, `restart`, `shutdown`
  error_class, -- text: of `error`: see [operations](operations.md#when-a-model-fails)
  input_tokens, -- integer: of all its calls of models; 0 where they were not counted
  output_tokens, -- integer: of all its calls of models; 0 where they were not counted
  total_tokens, -- integer: of all its calls of models; 0 where they were not counted
  model_calls, -- integer:
  tool_calls, -- integer:
  seq, -- integer: of the event that queued it. `v_events` has what was asked and answered
  over_seq, -- integer: of the event that ended it, or NULL
  job, -- text: the [flow](#v_a2a_jobs) that waits for it, or NULL
  work_session, -- text: where it belongs, or NULL
  conversation, -- text: where it belongs, or NULL
  parent_run -- text: the run that has asked for it, by a message or by starting it; NULL: no run has
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_work_sessions ( -- One row per work session.
  work_session, -- text: workSessionId
  title, -- text: the title of its first task, else a label, else a stated goal, else the first message that makes a title; `협업 작업` where nothing
    -- does
  started_at, -- time: of its earliest event
  start_ms, -- time: of its earliest event
  last_at, -- time: of its latest event
  last_ms, -- time: of its latest event
  status, -- text: `ARCHIVED`: nothing for more than 24 hours. `QUIET`: the latest event ends something, and no conversation, child run, task in
    -- progress, flow or run is open. Else `ACTIVE`. By the clock of the query
  outcome, -- text: `blocked` if a thread or task is; else `no_reply`, `waiting`, `active` if a thread, task, flow or run is; else `done`
  reason, -- text: why it is blocked or without reply: of the thread or task that last went wrong; else empty
  category, -- text: an operator's where there is one, else by vote of its events
  event_count, -- integer:
  thread_count, -- integer:
  open_threads, -- integer: conversations and child runs without an end, or with a flow that is not over
  open_tasks, -- integer: tasks in progress
  blocked_tasks, -- integer: tasks blocked
  conversation_events, -- integer: events by role
  delegation_events, -- integer: events by role
  orchestration_events, -- integer: events by role
  observability_events, -- integer: events by role
  participants, -- text: agents, with commas; the first 64
  previous_work_session, -- text: the one that it continues, or NULL
  category_source, -- text: `manual_override`: an operator's. `event`: by vote
  category_updated_at, -- text: when the operator said so; NULL where none did
  category_updated_by, -- text: who; NULL where none did, or no name was given
  open_flows, -- integer: flows between our own agents that are not over; of an imported log 0
  open_runs -- integer: runs of our own agents that are not over; of an imported log 0
) AS
SELECT s.name AS work_session, p.title,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.start_time / 1000.0, 'unixepoch') AS started_at, s.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.last_time / 1000.0, 'unixepoch') AS last_at, s.last_time AS last_ms,
       CASE WHEN (julianday('now') - 2440587.5) * 86400000.0 - s.last_time > 86400000.0 THEN 'ARCHIVED'
            WHEN s.latest_terminal AND s.open_threads = 0 AND s.open_tasks = 0 AND s.open_flows = 0 AND s.open_runs = 0 THEN 'QUIET'
            ELSE 'ACTIVE' END AS status,
       s.outcome,
       CASE WHEN s.outcome IN ('blocked', 'no_reply') THEN coalesce(
         (SELECT t.reason FROM threads t WHERE t.session_id = s.id AND t.outcome = s.outcome AND t.reason <> ''
           ORDER BY t.step_time DESC, t.step_seq DESC LIMIT 1),
         (SELECT k.reason FROM session_tasks k WHERE k.session_id = s.id AND k.state = 'blocked'
           ORDER BY k.time DESC, k.seq DESC LIMIT 1), '') ELSE '' END AS reason,
       s.category, s.event_count, s.thread_count, s.open_threads + s.reopened AS open_threads, s.open_tasks, s.blocked_tasks,
       s.conversation_n AS conversation_events, s.delegation_n AS delegation_events, s.orchestration_n AS orchestration_events,
       s.observability_n AS observability_events,
       (SELECT group_concat(j.value ->> '$.agent', ', ') FROM json_each(p.participants) j) AS participants,
       nullif(p.previous, '') AS previous_work_session,
       CASE WHEN o.category <> '' THEN 'manual_override' ELSE 'event' END AS category_source,
       CASE WHEN o.category <> '' THEN o.updated_at END AS category_updated_at,
       CASE WHEN o.category <> '' THEN nullif(o.updated_by, '') END AS category_updated_by,
       s.open_flows, s.open_runs
  FROM (SELECT *, CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
                       WHEN waiting_n > 0 OR waits THEN 'waiting'
                       WHEN active_n > 0 OR open_tasks > 0 OR open_flows > 0 OR open_runs > 0 THEN 'active'
                       WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END AS outcome
          FROM (SELECT w.*,
                       (SELECT count(*) FROM a2a_jobs f WHERE f.work_session_id = w.name AND f.over_seq = 0) AS open_flows,
                       (SELECT count(*) FROM runs r WHERE r.work_session = w.name AND r.work_session <> '' AND r.over_seq = 0) AS open_runs,
                       (SELECT count(DISTINCT t.id) FROM a2a_jobs f JOIN threads t ON t.session_id = w.id AND t.key = 'conv:' || f.conversation_id
                         WHERE f.work_session_id = w.name AND f.over_seq = 0 AND f.conversation_id <> '' AND NOT t.open) AS reopened,
                       EXISTS (SELECT 1 FROM a2a_jobs f JOIN threads t ON t.session_id = w.id AND t.key = 'conv:' || f.conversation_id
                         WHERE f.work_session_id = w.name AND f.over_seq = 0 AND f.conversation_id <> ''
                           AND f.phase IN ('dispatching', 'waiting') AND t.outcome = 'done') AS waits
                  FROM work_sessions w)) s
  JOIN session_profiles p ON p.id = s.id
  LEFT JOIN category_overrides o ON o.name = s.name;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_conversations ( -- One row per thread of a work session: a conversation, else a pair of agents, else events of one type within five minutes.
  work_session, -- text:
  conversation, -- text: conversationId; NULL for the other threads
  thread, -- text: `conv:<conversationId>`, `pair:<agent>_<agent>` or `event:<type>:<number>`
  from_agent, -- text: of its earliest event; `unknown` where that names none
  to_agent, -- text: of its earliest event; `unknown` where that names none
  outcome, -- text: `waiting`, `active`, `blocked`, `no_reply`, `done`; empty where there was no request. What would be `done` is `waiting` or
    -- `active` while a flow of ours is open
  open, -- flag: no end yet, or a flow of ours in it is not over
  reason, -- text: why it is blocked or without reply; else empty
  category, -- text: by vote of its events
  event_count, -- integer:
  started_at, -- time: of its earliest event
  start_ms, -- time: of its earliest event
  last_at, -- time: of its latest event
  last_ms, -- time: of its latest event
  parent_conversation, -- text: or NULL
  open_flows -- integer: flows between our own agents that are not over
) AS
SELECT t.work_session, t.conversation, t.thread, t.from_agent, t.to_agent,
       CASE WHEN t.outcome <> 'done' OR t.open_flows = 0 THEN t.outcome WHEN t.waiting_flows > 0 THEN 'waiting' ELSE 'active' END AS outcome,
       t.open OR t.open_flows > 0 AS open, t.reason, t.category, t.event_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.start_ms / 1000.0, 'unixepoch') AS started_at, t.start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.last_ms / 1000.0, 'unixepoch') AS last_at, t.last_ms,
       t.parent_conversation, t.open_flows
  FROM (SELECT w.name AS work_session, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.key AS thread,
               t.from_agent, t.to_agent, t.outcome, t.open, t.reason, t.category, t.event_count, t.start_time AS start_ms, t.last_time AS last_ms,
               nullif(t.parent_id, '') AS parent_conversation,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%') AS open_flows,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%' AND f.phase IN ('dispatching', 'waiting')) AS waiting_flows
          FROM threads t JOIN work_sessions w ON w.id = t.session_id) t;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_agent_tasks ( -- One row per task of an agent, open or over: what our own agents did, and what files of tasks said where another gateway keeps them, or did
  -- before. Imported logs change nothing here; their tasks are in files.
  task_id, -- text: the task
  agent, -- text: whose it is
  status, -- text: `backlog`, `pending`, `pending_approval`, `in_progress`, `blocked`, `interrupted`; `completed`, `cancelled`, `abandoned`,
    -- `failed`. Only files have `pending` and `abandoned`
  priority, -- text: `urgent`, `high`, `medium`, `low`
  description, -- text: what is to be done
  context, -- text: what one has to know for it, or NULL
  source, -- text: `self`, `user`, `request:<agent>`, or NULL
  simple, -- flag: it needs no steps
  work_session_id, -- text: the work session, or NULL
  previous_work_session_id, -- text: the one that it continues, or NULL
  session_key, -- text: the session that has started it, or picked it, or NULL
  created_by, -- text: who put it into the backlog, or NULL
  created_at, -- time: started, or put into the backlog
  created_ms, -- time: started, or put into the backlog
  active_at, -- time: last changed
  active_ms, -- time: last changed
  ended_at, -- time: over, or NULL
  ended_ms, -- time: over, or NULL
  open, -- flag: it is neither over, nor known from a file alone that is gone
  focus, -- flag: its agent is at it: of those in progress the one that it turned to last
  steps, -- integer: how many there are. See [v_task_steps](#v_task_steps)
  steps_done, -- integer: how many are done
  progress_count, -- integer: lines of progress
  progress, -- text: the last one, or NULL
  blocked_reason, -- text: what it waits for; NULL: for nothing
  blocked_by, -- JSON: the agents that can help, as a list; NULL: it waits for nothing
  blocked_action, -- text: what they are to do; NULL: it waits for nothing
  escalation, -- text: `none`, `requesting`, `escalated`, `failed`, or NULL
  requests, -- integer: how often those who can help were asked
  assignee, -- text: for whom, or NULL
  depends_on, -- JSON: ids of tasks, or NULL
  effort, -- text: as they were given, or NULL
  start_date, -- text: as they were given, or NULL
  due_date, -- text: as they were given, or NULL
  milestone_id, -- text: as they were given, or NULL
  milestone_item_id, -- text: as they were given, or NULL
  reassigned, -- integer: how often it went back to the backlog because no agent worked on it
  outcome, -- text: `completed`, `cancelled`, `interrupted`, `error`; NULL until then
  outcome_text, -- text: the summary, reason or error; NULL until then
  outcome_by, -- text: who decided it, where that was not the owner; else NULL
  history_month, -- text: of the history that has it, e.g. `2026-02`, or NULL
  file_gone, -- flag: it was known from a file, which is not there any more
  version, -- integer: of its stream with the event that changed it last, what `version` of the tools goes by; 0: it is known from a file alone
  seq, -- integer: of the event that made it known
  last_seq -- integer: of the one that changed it last
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_continuation ( -- One row per agent that was kept going, or has had a run in its main session: why it is told nothing now, or what it was told last.
  -- `openclawd continuation explain AGENT` says what is done next.
  agent, -- text:
  failures, -- integer: prompts in a row that have come to nothing
  cause, -- text: of the last one: `rate_limit`, `timeout`, `unknown`, `context_overflow`, `billing`, `auth`; `context_reset` after its session was
    -- made to start over; or NULL
  backoff_until, -- time: prompts pause until then, which may be over; or NULL
  backoff_until_ms, -- time: prompts pause until then, which may be over; or NULL
  backoff_ms, -- integer: how long they pause, or NULL
  overflows, -- integer: failures in a row whose context was too long
  failed_task_id, -- text: of the last failure, or NULL
  failed_run_id, -- text: of the last failure, or NULL
  prompt_run_id, -- text: the run of the last prompt to the agent, or NULL
  prompt_task_id, -- text: the task of that prompt, or NULL
  prompt_reason, -- text: [why](events.md#what-keeps-agents-going) it was made, or NULL
  prompt_at, -- time: when it was asked for, or NULL
  prompt_ms, -- time: when it was asked for, or NULL
  prompt_over, -- flag: its run has ended; NULL without a prompt
  ended_run_id, -- text: the last run of the main session that has ended, whatever its cause; or NULL
  ended_at, -- time: when it has, or NULL
  ended_ms, -- time: when it has, or NULL
  ended_ok, -- flag: it has ended well; NULL without such a run
  ended_by_restart, -- flag: a restart has broken it off; NULL without such a run
  summary_at, -- time: when the agent was told of a restart last, or NULL
  summary_ms, -- time: when the agent was told of a restart last, or NULL
  tasks, -- integer: tasks for which something was done: see [v_continuation_tasks](#v_continuation_tasks)
  decided, -- integer: decisions about the agent, in all
  seq -- integer: of the last event that changed any of it
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_continuation_tasks ( -- One row per task for which something was done since it was last started, blocked or resumed. A task that is over has none.
  agent, -- text:
  task_id, -- text:
  prompts, -- integer: to go on with it, since it came on last
  same, -- integer: of these in a row at the same step
  step, -- text: the step that it was at when the last one was sent, or NULL
  measured, -- integer: how far it was: steps done or skipped, lines of progress where it has no steps
  defines, -- integer: prompts to define steps
  prompt_at, -- time: of the last one, or NULL
  prompt_ms, -- time: of the last one, or NULL
  escalated, -- integer: which of the prompts has asked what is in the way; 0: none
  reminders, -- integer: how often the agent was asked whether it is still blocked, since the last request for help
  reminded_at, -- time: when it was asked last, or NULL
  reminded_ms, -- time: when it was asked last, or NULL
  asked_job_id, -- text: the flow of the last request for help, as long as nothing says that it has not arrived, or NULL
  ask_failed_at, -- time: when a request has not arrived, or NULL
  ask_failed_ms, -- time: when a request has not arrived, or NULL
  told, -- flag: no agent is asked any more; the lead or people were told
  seq -- integer: as in [v_continuation](#v_continuation)
) AS
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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_discord_threads ( -- One row per thread in which something has happened that the log knows of.
  thread_id, -- text: the thread, or the channel
  channel_id, -- text: the channel that it hangs below; NULL where it is not known
  guild_id, -- text: the server; NULL where it is not known
  name, -- text: of a thread that was opened here, else NULL
  kind, -- text: of a thread that was opened here: `collab`, `report`; else NULL
  report_of, -- text: of a report thread: the conversation between agents that it is about; NULL: of none, or it is no more
  participants, -- integer: agents of which no event says that they have left. Those that were not spoken to for too long take part no more all
    -- the same
  last_message_id, -- text: the newest message that was decided about, or NULL
  last_at, -- time: the last message there, or registration
  last_ms, -- time: the last message there, or registration
  suspended_until, -- time: until when bots are held there, or NULL
  suspended_until_ms, -- time: until when bots are held there, or NULL
  suspended_for, -- text: `bot_rate`, `bot_turns`, or NULL
  seq -- integer: of the first event about it
) AS
SELECT p.place_id AS thread_id, nullif(p.channel_id, '') AS channel_id, nullif(p.guild_id, '') AS guild_id, nullif(p.name, '') AS name,
       nullif(p.kind, '') AS kind, nullif(p.report_of, '') AS report_of,
       (SELECT count(*) FROM discord_participants a WHERE a.thread_id = p.place_id AND a.left_at = 0) AS participants,
       nullif(p.last_id, '') AS last_message_id,
       CASE WHEN p.last_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.last_at / 1000.0, 'unixepoch') END AS last_at, nullif(p.last_at, 0) AS last_ms,
       CASE WHEN p.suspended_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.suspended_until / 1000.0, 'unixepoch') END AS suspended_until,
       nullif(p.suspended_until, 0) AS suspended_until_ms, nullif(p.suspended_for, '') AS suspended_for, p.seq
  FROM discord_places p
 WHERE p.thread = 1;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_discord_participants ( -- One row per thread and agent that takes part in it, or has.
  thread_id, -- text:
  agent, -- text:
  bot_user_id, -- text: its user in Discord, or NULL
  reason, -- text: `collaborate`, `mentioned`, `posted`; NULL once redacted
  since, -- time:
  since_ms, -- time:
  left_at, -- time: when an event said that it takes part no more, or NULL
  left_ms, -- time: when an event said that it takes part no more, or NULL
  last_at, -- time: the last message in the thread
  last_ms, -- time: the last message in the thread
  seq -- integer: of the event that has registered it
) AS
SELECT a.thread_id, a.agent, nullif(a.bot_user_id, '') AS bot_user_id, nullif(a.reason, '') AS reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.since / 1000.0, 'unixepoch') AS since, a.since AS since_ms,
       CASE WHEN a.left_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', a.left_at / 1000.0, 'unixepoch') END AS left_at, nullif(a.left_at, 0) AS left_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(p.last_at, 0) / 1000.0, 'unixepoch') AS last_at, nullif(p.last_at, 0) AS last_ms, a.seq
  FROM discord_participants a LEFT JOIN discord_places p ON p.place_id = a.thread_id;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_collaborations ( -- One row per request that an agent has put to another one in Discord, with what has become of it.
  collab_id, -- text: the request
  from_agent, -- text: who has asked, in lower case
  to_agent, -- text: whom, in lower case; NULL where that is redacted
  delivery, -- text: `accepted`: it is under way; `sent`, `failed`, `delivery_unknown`
  code, -- text: why it was not delivered: a code, or NULL
  error, -- text: the same in words, or NULL
  status, -- text: of one that an answer is waited for: `pending`, `responded`, `escalated`, `responded_late`, `failed`; else NULL
  reason, -- text: why nothing can be posted in its thread any more: a code, or NULL
  mode, -- text: how its thread was chosen: `named_thread`, `shared_thread`, `reuse_thread`, `new_thread`
  thread_id, -- text: where it stands, or is going to stand; or NULL
  thread_name, -- text: its name, or NULL
  channel_id, -- text: the channel of the thread, or NULL
  guild_id, -- text: the server, or NULL
  message, -- text: what was asked, without secrets, 500 characters of it
  message_ids, -- JSON: ids of its messages in Discord, in order; NULL while it was not sent
  account_id, -- text: whose bot has asked; NULL while it was not sent
  session_key, -- text: the session that has asked, or NULL
  run_id, -- text: the run that has asked, or NULL
  work_session_id, -- text: where it belongs, or NULL
  task_id, -- text: where it belongs, or NULL
  hop, -- integer: how often what it comes from was passed on between agents, this time included, or NULL
  accepted_at, -- time: when it was taken on
  accepted_ms, -- time: when it was taken on
  sent_at, -- time: when it stood in the thread, or NULL
  sent_ms, -- time: when it stood in the thread, or NULL
  step, -- integer: the last step that was taken because no answer came: 1 and 2 are reminders, the last one the escalation; 0: none
  last_attempt_at, -- time: of that step, or of the failure; or NULL
  last_attempt_ms, -- time: of that step, or of the failure; or NULL
  responded_at, -- time: when it was answered, or NULL
  responded_ms, -- time: when it was answered, or NULL
  answer_message_id, -- text: the message that has answered it, `redacted` where that is, or NULL
  response_ms, -- integer: how long that took, in ms, or NULL
  version, -- integer: of its stream
  seq, -- integer: of the event that made it known
  last_seq -- integer: of the last one that is about it
) AS
SELECT CASE collab_id WHEN '' THEN name ELSE collab_id END AS collab_id, nullif(from_agent, '') AS from_agent, nullif(target_agent, '') AS to_agent,
       delivery, nullif(code, '') AS code, nullif(error, '') AS error, nullif(status, '') AS status, json_extract(request, '$.reason') AS reason, nullif(route, '') AS mode,
       nullif(thread_id, '') AS thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, nullif(guild_id, '') AS guild_id,
       json_extract(request, '$.originalMessage') AS message, json_extract(request, '$.messageIds') AS message_ids,
       nullif(json_extract(request, '$.fromAccountId'), '') AS account_id, nullif(session_key, '') AS session_key, nullif(run_id, '') AS run_id,
       nullif(work_session_id, '') AS work_session_id, json_extract(request, '$.taskId') AS task_id, nullif(hop, 0) AS hop,
       CASE WHEN accepted_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', accepted_at / 1000.0, 'unixepoch') END AS accepted_at,
       nullif(accepted_at, 0) AS accepted_ms,
       CASE WHEN sent_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', sent_at / 1000.0, 'unixepoch') END AS sent_at, nullif(sent_at, 0) AS sent_ms,
       coalesce(json_extract(request, '$.step'), 0) AS step,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(request, '$.lastAttemptAt') / 1000.0, 'unixepoch') AS last_attempt_at,
       json_extract(request, '$.lastAttemptAt') AS last_attempt_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(request, '$.respondedAt') / 1000.0, 'unixepoch') AS responded_at,
       json_extract(request, '$.respondedAt') AS responded_ms, json_extract(request, '$.answerId') AS answer_message_id,
       json_extract(request, '$.respondedAt') - nullif(sent_at, 0) AS response_ms, version, id AS seq, last_seq
  FROM collaborations;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE VIEW v_collaboration_threads ( -- One row per thread that was opened for requests of one agent to another, as long as it can be used again: it is gone once Discord does not
  -- know the thread any more. One that was not used for `threadReuseTTL` is not used again.
  reuse_key, -- text: what it is kept under: `<from>:<to>`, and the topic, if it has one
  from_agent, -- text: who asks there; the other direction has threads of its own
  to_agent, -- text: whom
  thread_id, -- text: the thread
  thread_name, -- text: its name
  channel_id, -- text: its channel
  messages, -- integer: messages of requests in it
  created_at, -- time:
  created_ms, -- time:
  last_used_at, -- time:
  last_used_ms, -- time:
  seq -- integer: of the event that opened it
) AS
SELECT reuse_key, substr(direction, 1, instr(direction, ':') - 1) AS from_agent, substr(direction, instr(direction, ':') + 1) AS to_agent,
       thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, messages,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_used_at / 1000.0, 'unixepoch') AS last_used_at, last_used_at AS last_used_ms, seq
  FROM collaboration_threads;
-- +goose StatementEnd
