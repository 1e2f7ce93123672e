-- +goose Up
-- Projection "conversation": why a thread is blocked or without reply as a code, and by which sessions are found that have an agent, an
-- outcome or something open. The tables are rebuilt, since only the events tell.
ALTER TABLE threads ADD COLUMN reason_code TEXT NOT NULL DEFAULT ''; -- of reason; '' if neither blocked nor without reply

CREATE TABLE session_members ( -- the work sessions of an agent: those that have it in session_profiles.participants
  agent      TEXT NOT NULL,    -- id in lower case
  session_id INTEGER NOT NULL, -- work_sessions.id
  PRIMARY KEY (agent, session_id)
) STRICT, WITHOUT ROWID;

-- The outcome from the session's own counts. Open flows and runs, which are in other tables, may change it.
CREATE INDEX work_sessions_by_outcome ON work_sessions (CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
 WHEN waiting_n > 0 THEN 'waiting' WHEN active_n > 0 OR open_tasks > 0 THEN 'active' WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END);
CREATE INDEX work_sessions_open ON work_sessions (open_threads + open_tasks + blocked_tasks > 0);

DROP VIEW v_trouble;
DROP VIEW v_conversations;

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
  last_ms, -- time: of its latest event
  reason_code -- text: of reason, for programs: `wait_timeout`, `context_too_long`, ...; see [events](events.md#reason-codes)
) AS
SELECT w.name AS work_session, p.title, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.from_agent, t.to_agent,
       t.outcome, t.reason, strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms,
       t.reason_code
  FROM threads t JOIN work_sessions w ON w.id = t.session_id JOIN session_profiles p ON p.id = t.session_id
 WHERE t.outcome IN ('blocked', 'no_reply');
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
  open_flows, -- integer: unfinished flows between our own agents
  reason_code -- text: of reason, for programs; else empty. See [events](events.md#reason-codes)
) AS
SELECT t.work_session, t.conversation, t.thread, t.from_agent, t.to_agent,
       CASE WHEN t.outcome <> 'done' OR t.open_flows = 0 THEN t.outcome WHEN t.waiting_flows > 0 THEN 'waiting' ELSE 'active' END AS outcome,
       t.open OR t.open_flows > 0 AS open, t.reason, t.category, t.event_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.start_ms / 1000.0, 'unixepoch') AS started_at, t.start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.last_ms / 1000.0, 'unixepoch') AS last_at, t.last_ms,
       t.parent_conversation, t.open_flows, t.reason_code
  FROM (SELECT w.name AS work_session, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.key AS thread,
               t.from_agent, t.to_agent, t.outcome, t.open, t.reason, t.reason_code, t.category, t.event_count, t.start_time AS start_ms,
               t.last_time AS last_ms,
               nullif(t.parent_id, '') AS parent_conversation,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%') AS open_flows,
               (SELECT count(*) FROM a2a_jobs f WHERE f.conversation_id = substr(t.key, 6) AND f.over_seq = 0
                   AND f.work_session_id = w.name AND t.key LIKE 'conv:_%' AND f.phase IN ('dispatching', 'waiting')) AS waiting_flows
          FROM threads t JOIN work_sessions w ON w.id = t.session_id) t;
-- +goose StatementEnd

-- +goose Down
DROP VIEW v_conversations;
DROP VIEW v_trouble;

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

DROP INDEX work_sessions_open;
DROP INDEX work_sessions_by_outcome;
DROP TABLE session_members;
ALTER TABLE threads DROP COLUMN reason_code;
