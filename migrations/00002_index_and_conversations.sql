-- +goose Up
-- Projection "index": what the classifier says of each event.
CREATE TABLE facets (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,    -- 1: our own family, left out of the Task-Monitor unless scope=all
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  category TEXT NOT NULL,
  n        INTEGER NOT NULL,    -- events
  UNIQUE (internal, role, type, category)
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
  sub_tags     TEXT NOT NULL,
  secondary    TEXT NOT NULL,
  version      TEXT NOT NULL     -- categoryVersion
) STRICT;

-- Which events have a facet, newest first: for each run of 256 seqs and each facet in it, one bit per seq. An index entry per event
-- would dirty a page per facet at every commit; these rows of the newest block lie together.
CREATE TABLE facet_blocks (
  block    INTEGER NOT NULL, -- seq / 256
  facet_id INTEGER NOT NULL,
  bits     BLOB NOT NULL,    -- 32 bytes; bit seq % 256, lowest bit of the first byte first
  PRIMARY KEY (block, facet_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX facet_blocks_by_facet ON facet_blocks (facet_id, block);

-- Projection "conversation": work sessions, their threads, who took part. What changes with every event is in work_sessions, in narrow
-- rows, so that those of one commit share few pages; what people read about a session is in session_profiles.
CREATE TABLE work_sessions (
  id              INTEGER PRIMARY KEY,  -- seq of its first event
  name            TEXT NOT NULL UNIQUE, -- workSessionId
  base_time       REAL NOT NULL,       -- time of that event; times in kinds are relative to it
  start_time      REAL NOT NULL,
  last_time       REAL NOT NULL,
  latest_seq      INTEGER NOT NULL,    -- the event of last_time; the later one of equals
  latest_terminal INTEGER NOT NULL,
  message_time    REAL NOT NULL,       -- of the newest event that says something
  message_seq     INTEGER NOT NULL,    -- 0: none does
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
  votes           TEXT NOT NULL, -- [fallback category, [category, weight, tag, n, tag, n, ...], ...]
  kinds           TEXT NOT NULL  -- [[kind id, events, first time - base_time, last time - base_time], ...]
) STRICT;

CREATE TABLE session_profiles (
  id           INTEGER PRIMARY KEY, -- work_sessions.id
  title        TEXT NOT NULL,
  title_rank   INTEGER NOT NULL,    -- of the event that the title is from: -1 is best
  title_time   REAL NOT NULL,
  participants TEXT NOT NULL, -- [{agent, name, type}, ...]
  previous     TEXT NOT NULL        -- previousWorkSessionId, or ''
) STRICT;
CREATE INDEX session_profiles_by_previous ON session_profiles (previous) WHERE previous <> '';

CREATE TABLE session_kinds (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  UNIQUE (internal, role, type)
) STRICT;

-- The newest sessions by kind of event, by category and by sub-tag. A list is '12' for session_kinds.id 12, '@infra_ops' for a category,
-- '#배포' for a sub-tag in lower case. A session stands in a kind's list at the slot (time / 600,000 ms, rounded down) of its last event
-- of that kind, in a category's or tag's list at the slot of its last event. The exact order within a slot is in the sessions' own
-- rows. All of a session's lists at one slot share a row, so that what one commit changes lies together.
CREATE TABLE session_slots (
  slot       INTEGER NOT NULL,
  session_id INTEGER NOT NULL,
  lists      TEXT NOT NULL, -- JSON: [list, ...]
  PRIMARY KEY (slot, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE list_slots (
  slot INTEGER NOT NULL,
  list TEXT NOT NULL,
  n    INTEGER NOT NULL, -- sessions that stand in the list at this slot; their sum is the length of the list
  PRIMARY KEY (slot, list)
) STRICT, WITHOUT ROWID;
CREATE INDEX list_slots_by_list ON list_slots (list, slot);

CREATE TABLE session_census ( -- how many sessions hold just these kinds of events, by category
  signature TEXT NOT NULL,    -- kind ids, ascending, with commas
  category  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (signature, category)
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
  id          INTEGER PRIMARY KEY, -- seq of its first event
  session_id  INTEGER NOT NULL,
  key         TEXT NOT NULL,       -- conv:<conversationId>, pair:<a>_<b>, event:<type>:<bucket>
  parent_id   TEXT NOT NULL,       -- parentConversationId, or ''
  from_agent  TEXT NOT NULL,       -- of the earliest event; 'unknown' where missing
  to_agent    TEXT NOT NULL,
  start_time  REAL NOT NULL,
  last_time   REAL NOT NULL,
  event_count INTEGER NOT NULL,
  step_time   REAL NOT NULL,       -- the newest event that moved the outcome
  step_seq    INTEGER NOT NULL,    -- 0: none has
  open        INTEGER NOT NULL,
  outcome     TEXT NOT NULL,       -- active, waiting, blocked, no_reply, done; '' for threads without a conversation
  reason      TEXT NOT NULL,
  category    TEXT NOT NULL,
  votes       TEXT NOT NULL, -- as in work_sessions
  UNIQUE (session_id, key)
) STRICT;
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
DROP TABLE session_census;
DROP TABLE list_slots;
DROP TABLE session_slots;
DROP TABLE session_kinds;
DROP TABLE session_profiles;
DROP TABLE work_sessions;
DROP TABLE facet_blocks;
DROP TABLE event_index;
DROP TABLE facet_hours;
DROP TABLE facets;
