-- +goose Up
-- Projection "a2a": the flows between agents that there are and were, and the structured handoffs among them. A decision table. What was
-- asked and answered in full is in events alone.
CREATE TABLE a2a_jobs (
  id              INTEGER PRIMARY KEY,  -- seq of the event that asked for it
  name            TEXT NOT NULL UNIQUE, -- of its stream, after job/: its id, or the hash of one that cannot stand in a name
  created_at      INTEGER NOT NULL,     -- ms since 1970
  job_id          TEXT NOT NULL,        -- '' where name is its id
  kind            TEXT NOT NULL,        -- send, spawn; '' where what was asked for is redacted, as with what follows
  from_agent      TEXT NOT NULL,
  to_agent        TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  parent_id       TEXT NOT NULL,        -- the conversation that it came from, or ''
  work_session_id TEXT NOT NULL,        -- or ''
  task_id         TEXT NOT NULL,        -- or ''
  requester_key   TEXT NOT NULL,        -- the session that is told what came of it
  requester_run   TEXT NOT NULL,        -- the run that asked for it, or ''
  target_key      TEXT NOT NULL,        -- the session that answers
  label           TEXT NOT NULL,        -- of a spawn, or ''
  preview         TEXT NOT NULL,        -- how the message begins
  intent          TEXT NOT NULL,        -- of a send
  payload_type    TEXT NOT NULL,        -- of its structured handoff, or ''
  payload_subject TEXT NOT NULL,        -- the taskId or questionId of that
  payload_hash    TEXT NOT NULL,        -- of all that it says
  effective_turns INTEGER NOT NULL,     -- how many turns of ping-pong it may take
  phase           TEXT NOT NULL,        -- dispatching, waiting, turn, announcing, posting, over
  due_at          INTEGER NOT NULL,     -- ms since 1970: when it is looked after again; 0 once it is over
  run_id          TEXT NOT NULL,        -- that it waits for, or waited for last; ''
  speaker         TEXT NOT NULL,        -- the agent that answers in that
  attempt         INTEGER NOT NULL,     -- at the first answer, and at posting, from 1
  turn            INTEGER NOT NULL,     -- under way, from 1; after the last one how many were taken
  resumed         INTEGER NOT NULL,     -- restarts since it last came on
  said            TEXT NOT NULL,        -- JSON: how each answer began, [{agent, text}]
  ended_early     TEXT NOT NULL,        -- why it took fewer turns than it might have, or ''
  changed_at      INTEGER NOT NULL,     -- ms since 1970: when it last came on, or was looked after
  sent_seq        INTEGER NOT NULL,     -- of its a2a.send; 0: none yet
  post_seq        INTEGER NOT NULL,     -- of the event that says what is to be posted; 0: none does
  over_seq        INTEGER NOT NULL,     -- of the event that ended it; 0: it is open
  ended_at        INTEGER NOT NULL,     -- ms since 1970; 0: it is open
  outcome         TEXT NOT NULL,        -- once it is over: ok, no_reply, blocked, failed, abandoned, cancelled, killed, timeout
  reason          TEXT NOT NULL         -- why, or ''
) STRICT;
CREATE INDEX a2a_jobs_open ON a2a_jobs (over_seq) WHERE over_seq = 0;
CREATE INDEX a2a_jobs_dispatching ON a2a_jobs (to_agent, phase) WHERE phase = 'dispatching' AND kind = 'send'; -- phase makes it the better one of two
CREATE INDEX a2a_jobs_children ON a2a_jobs (requester_key, over_seq) WHERE kind = 'spawn' AND over_seq = 0;    -- likewise over_seq, here and below
CREATE INDEX a2a_jobs_open_by_work_session ON a2a_jobs (work_session_id, over_seq) WHERE over_seq = 0;
CREATE INDEX a2a_jobs_open_by_conversation ON a2a_jobs (conversation_id, over_seq) WHERE over_seq = 0;
CREATE INDEX a2a_jobs_by_work_session ON a2a_jobs (work_session_id);
CREATE INDEX a2a_jobs_by_conversation ON a2a_jobs (conversation_id);
CREATE INDEX a2a_jobs_by_requester ON a2a_jobs (requester_key);
CREATE INDEX a2a_jobs_by_sender ON a2a_jobs (from_agent);
CREATE INDEX a2a_jobs_by_target ON a2a_jobs (to_agent);
CREATE INDEX a2a_jobs_spawns ON a2a_jobs (kind) WHERE kind = 'spawn';

CREATE TABLE a2a_permits ( -- targets of flows of kind send that are open
  agent   TEXT PRIMARY KEY,
  active  INTEGER NOT NULL, -- flows that hold a permit
  waiting INTEGER NOT NULL  -- flows that wait for one
) STRICT, WITHOUT ROWID;

CREATE TABLE a2a_job_states ( -- how many flows there are of one sort; a row for each that there is some of
  kind    TEXT NOT NULL,
  phase   TEXT NOT NULL,
  outcome TEXT NOT NULL, -- of phase over
  flows   INTEGER NOT NULL,
  PRIMARY KEY (kind, phase, outcome)
) STRICT, WITHOUT ROWID;

CREATE TABLE a2a_handoffs ( -- what was delegated or asked in a form that programs read
  seq             INTEGER PRIMARY KEY, -- of its a2a.send
  job             TEXT NOT NULL,       -- a2a_jobs.name
  type            TEXT NOT NULL,       -- task_delegation, question
  from_agent      TEXT NOT NULL,
  to_agent        TEXT NOT NULL,
  subject         TEXT NOT NULL,       -- taskId or questionId
  hash            TEXT NOT NULL,       -- of all that it says
  run_id          TEXT NOT NULL,       -- the run that it was given to first
  conversation_id TEXT NOT NULL,
  work_session_id TEXT NOT NULL,       -- or ''
  at              INTEGER NOT NULL,    -- ms since 1970
  state           TEXT NOT NULL,       -- open, answered, failed, replaced
  status          TEXT NOT NULL,       -- of a delegation: as last reported, or ''
  reply_seq       INTEGER NOT NULL,    -- of the first a2a.response to it; 0: none yet
  reply_at        INTEGER NOT NULL,    -- ms since 1970
  answered_seq    INTEGER NOT NULL,    -- of the a2a.send or a2a.response that answered it; 0: none has
  answered_at     INTEGER NOT NULL     -- ms since 1970
) STRICT;
CREATE INDEX a2a_handoffs_open ON a2a_handoffs (state) WHERE state = 'open';
CREATE INDEX a2a_handoffs_by_work_session ON a2a_handoffs (work_session_id);
CREATE INDEX a2a_handoffs_by_sender ON a2a_handoffs (from_agent);
CREATE INDEX a2a_handoffs_by_target ON a2a_handoffs (to_agent);

CREATE TABLE a2a_open_handoffs ( -- the one that is open between two agents about one subject
  from_agent TEXT NOT NULL,
  to_agent   TEXT NOT NULL,
  type       TEXT NOT NULL,
  subject    TEXT NOT NULL,
  seq        INTEGER NOT NULL, -- a2a_handoffs.seq
  PRIMARY KEY (from_agent, to_agent, type, subject)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_a2a_jobs AS
SELECT CASE job_id WHEN '' THEN name ELSE job_id END AS job_id, nullif(kind, '') AS kind, phase, nullif(outcome, '') AS outcome, nullif(reason, '') AS reason,
       nullif(from_agent, '') AS from_agent, nullif(to_agent, '') AS to_agent,
       nullif(requester_key, '') AS requester_session_key, nullif(requester_run, '') AS requester_run_id, nullif(target_key, '') AS target_session_key,
       nullif(conversation_id, '') AS conversation_id, nullif(parent_id, '') AS parent_conversation_id, nullif(work_session_id, '') AS work_session_id,
       nullif(task_id, '') AS task_id, nullif(label, '') AS label, nullif(preview, '') AS preview, nullif(intent, '') AS message_intent,
       nullif(payload_type, '') AS payload_type, nullif(payload_subject, '') AS payload_subject,
       nullif(run_id, '') AS run_id, nullif(speaker, '') AS speaker, attempt, turn, effective_turns,
       nullif(ended_early, '') AS ended_early, json_array_length(said) AS answers, resumed,
       CASE WHEN due_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') END AS due_at, nullif(due_at, 0) AS due_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', changed_at / 1000.0, 'unixepoch') AS changed_at, changed_at AS changed_ms,
       CASE WHEN ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') END AS ended_at, nullif(ended_at, 0) AS ended_ms,
       id AS seq, nullif(sent_seq, 0) AS sent_seq, nullif(over_seq, 0) AS over_seq
  FROM a2a_jobs;

CREATE VIEW v_delegations AS
SELECT job_id, from_agent AS parent_agent, to_agent AS child_agent, requester_session_key AS parent_session_key, requester_run_id AS parent_run_id,
       target_session_key AS child_session_key, run_id AS child_run_id, label, preview AS task, coalesce(outcome, 'running') AS state, reason,
       conversation_id, work_session_id, task_id, created_at, created_ms, ended_at, ended_ms, ended_ms - created_ms AS duration_ms, seq, over_seq
  FROM v_a2a_jobs WHERE kind = 'spawn';

CREATE VIEW v_a2a_handoffs AS
SELECT h.type, h.subject, h.from_agent, h.to_agent, h.state, nullif(h.status, '') AS status,
       json_extract(q.data, '$.payloadJson') AS payload,
       coalesce(json_extract(a.data, '$.payloadJson'), json_extract(a.data, '$.message')) AS answer,
       a.type AS answered_by,
       CASE j.job_id WHEN '' THEN j.name ELSE j.job_id END AS job_id, nullif(h.run_id, '') AS run_id, nullif(h.conversation_id, '') AS conversation_id,
       nullif(h.work_session_id, '') AS work_session_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', h.at / 1000.0, 'unixepoch') AS at, h.at AS at_ms,
       CASE WHEN h.answered_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', h.answered_at / 1000.0, 'unixepoch') END AS answered_at,
       nullif(h.answered_at, 0) AS answered_ms, h.seq, nullif(h.answered_seq, 0) AS answered_seq
  FROM a2a_handoffs h
  JOIN a2a_jobs j ON j.name = h.job
  LEFT JOIN events q ON q.seq = h.seq
  LEFT JOIN events a ON a.seq = nullif(h.answered_seq, 0);

-- +goose Down
DROP VIEW v_a2a_handoffs;
DROP VIEW v_delegations;
DROP VIEW v_a2a_jobs;
DROP TABLE a2a_open_handoffs;
DROP TABLE a2a_handoffs;
DROP TABLE a2a_job_states;
DROP TABLE a2a_permits;
DROP TABLE a2a_jobs;
