-- +goose Up
-- Projection "index": what the classifier says of each event.
CREATE TABLE facets (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,    -- 1: our own family, left out of the Task-Monitor unless scope=all
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  category TEXT NOT NULL,
  n        INTEGER NOT NULL,    -- events
  UNIQUE (role, type, category)
) STRICT;

CREATE TABLE facet_hours (
  hour      INTEGER NOT NULL,   -- event time / 3,600,000 ms
  facet_id  INTEGER NOT NULL,
  n         INTEGER NOT NULL,   -- events
  first_seq INTEGER NOT NULL,   -- lowest seq among them
  PRIMARY KEY (hour, facet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_index (
  seq          INTEGER PRIMARY KEY,
  facet_id     INTEGER NOT NULL,
  time         REAL NOT NULL,    -- ms since 1970, fractions kept
  time_source  TEXT NOT NULL,    -- event; recorded: the line had no usable time
  from_type    TEXT NOT NULL,    -- main, subagent, unknown
  to_type      TEXT NOT NULL,
  role_guessed INTEGER NOT NULL, -- 1: the event did not say its role
  source       TEXT NOT NULL,    -- of the category: manual, rule, heuristic, fallback
  confidence   REAL NOT NULL,    -- 0..1
  sub_tags     TEXT NOT NULL CHECK (json_valid(sub_tags)),
  secondary    TEXT NOT NULL CHECK (json_valid(secondary)),
  version      TEXT NOT NULL     -- categoryVersion
) STRICT;
CREATE INDEX event_index_by_facet ON event_index (facet_id, seq);

-- Projection "conversation": work sessions, their threads, who took part.
CREATE TABLE work_sessions (
  id              INTEGER PRIMARY KEY, -- seq of its first event
  name            TEXT NOT NULL UNIQUE, -- workSessionId
  start_time      REAL NOT NULL,
  last_time       REAL NOT NULL,
  latest_seq      INTEGER NOT NULL,    -- the event of last_time; the later one of equals
  latest_terminal INTEGER NOT NULL,
  event_count     INTEGER NOT NULL,
  conversation_n  INTEGER NOT NULL,    -- events by role
  delegation_n    INTEGER NOT NULL,
  orchestration_n INTEGER NOT NULL,
  observability_n INTEGER NOT NULL,
  thread_count    INTEGER NOT NULL,
  open_threads    INTEGER NOT NULL,    -- conversations and child runs without an end
  open_tasks      INTEGER NOT NULL,    -- tasks in progress
  blocked_tasks   INTEGER NOT NULL,
  waiting_n       INTEGER NOT NULL,    -- threads by outcome
  active_n        INTEGER NOT NULL,
  blocked_n       INTEGER NOT NULL,
  no_reply_n      INTEGER NOT NULL,
  done_n          INTEGER NOT NULL,
  category        TEXT NOT NULL,       -- by vote
  secondary       TEXT NOT NULL CHECK (json_valid(secondary)),
  sub_tags        TEXT NOT NULL CHECK (json_valid(sub_tags)),
  votes           TEXT NOT NULL CHECK (json_valid(votes)),
  kinds           TEXT NOT NULL CHECK (json_valid(kinds)), -- [kind id, events, first time, last time] each
  signature       TEXT NOT NULL,       -- its kind ids
  participants    TEXT NOT NULL CHECK (json_valid(participants)),
  title           TEXT NOT NULL,
  title_rank      INTEGER NOT NULL,
  title_time      REAL NOT NULL,
  last_message    TEXT NOT NULL CHECK (json_valid(last_message)),
  reason          TEXT NOT NULL,       -- why it is blocked or without reply, readable
  previous        TEXT NOT NULL        -- previousWorkSessionId, or ''
) STRICT;
CREATE INDEX work_sessions_by_category ON work_sessions (category, last_time);
CREATE INDEX work_sessions_by_previous ON work_sessions (previous) WHERE previous <> '';

CREATE TABLE session_kinds (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  UNIQUE (role, type)
) STRICT;

CREATE TABLE session_lists ( -- the newest sessions by kind of event
  kind_id    INTEGER NOT NULL,
  last_time  REAL NOT NULL,
  session_id INTEGER NOT NULL,
  PRIMARY KEY (kind_id, last_time, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_census ( -- how many sessions hold just these kinds, by category
  signature TEXT NOT NULL,
  category  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (signature, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_tags (
  tag        TEXT NOT NULL, -- lower case
  session_id INTEGER NOT NULL,
  PRIMARY KEY (tag, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_tasks (
  id         INTEGER PRIMARY KEY, -- seq of the task's first event in the session
  session_id INTEGER NOT NULL,
  task_id    TEXT NOT NULL,
  state      TEXT NOT NULL,
  time       REAL NOT NULL,
  seq        INTEGER NOT NULL,
  reason     TEXT NOT NULL,
  UNIQUE (session_id, task_id)
) STRICT;

CREATE TABLE session_events (
  session_id INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  thread_id  INTEGER NOT NULL,
  kind_id    INTEGER NOT NULL,
  time       REAL NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE threads (
  id              INTEGER PRIMARY KEY, -- seq of its first event
  session_id      INTEGER NOT NULL,
  key             TEXT NOT NULL,       -- conv:<id>, pair:<a>_<b>, event:<type>:<bucket>
  conversation_id TEXT NOT NULL,       -- '' for the other two kinds
  parent_id       TEXT NOT NULL,       -- parentConversationId, or ''
  from_agent      TEXT NOT NULL,       -- of the earliest event; 'unknown' where missing
  to_agent        TEXT NOT NULL,
  start_time      REAL NOT NULL,
  last_time       REAL NOT NULL,
  event_count     INTEGER NOT NULL,
  step_time       REAL NOT NULL,       -- the newest event that moved the outcome
  step_seq        INTEGER NOT NULL,    -- 0: none has
  open            INTEGER NOT NULL,
  outcome         TEXT NOT NULL,       -- active, waiting, blocked, no_reply, done; '' for threads without a conversation
  reason          TEXT NOT NULL,
  category        TEXT NOT NULL,
  sub_tags        TEXT NOT NULL CHECK (json_valid(sub_tags)),
  votes           TEXT NOT NULL CHECK (json_valid(votes)),
  UNIQUE (session_id, key)
) STRICT;
CREATE INDEX threads_by_conversation ON threads (conversation_id) WHERE conversation_id <> '';
CREATE INDEX threads_by_trouble ON threads (outcome, last_time) WHERE outcome IN ('blocked', 'no_reply');

-- Projection "route": the conversation that a pair of agents is having within a work session. A decision table.
CREATE TABLE routes (
  id              INTEGER PRIMARY KEY, -- seq of its first event
  route_key       TEXT NOT NULL UNIQUE, -- <workSessionId>::<agent>|<agent>, agents in lower case, sorted
  conversation_id TEXT NOT NULL,
  time            REAL NOT NULL,
  seq             INTEGER NOT NULL,
  last_event_type TEXT NOT NULL,
  run_id          TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE routes;
DROP TABLE threads;
DROP TABLE session_events;
DROP TABLE session_tasks;
DROP TABLE session_tags;
DROP TABLE session_census;
DROP TABLE session_lists;
DROP TABLE session_kinds;
DROP TABLE work_sessions;
DROP TABLE event_index;
DROP TABLE facet_hours;
DROP TABLE facets;
