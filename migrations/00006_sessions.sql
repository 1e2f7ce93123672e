-- +goose Up
-- Projection "session": the sessions that there are, and their transcripts. A decision table. What a session is called by never changes
-- and is in session_keys; what changes with its messages is in sessions, a row for each one that there is.
CREATE TABLE session_keys (
  id     INTEGER PRIMARY KEY,  -- seq of the first event of a session of this key
  name   TEXT NOT NULL UNIQUE, -- e.g. agent:eden:main; it stays when the session is deleted
  hidden INTEGER NOT NULL      -- seq of the newest event that deleted transcripts: what was begun before it is not listed
) STRICT;

CREATE TABLE sessions (
  id            INTEGER PRIMARY KEY, -- session_keys.id
  key           TEXT NOT NULL,       -- session_keys.name, so that a list needs no join
  agent         TEXT NOT NULL,       -- '' for the keys that name none
  kind          TEXT NOT NULL,       -- main, subagent, a2a, direct, group, channel, cron, acp, other, alias
  made_seq      INTEGER NOT NULL,    -- of the event that made it
  created_at    INTEGER NOT NULL,    -- ms since 1970
  updated_at    INTEGER NOT NULL,    -- ms since 1970: the newest change or message
  seq           INTEGER NOT NULL,    -- of the event that changed it last
  transcript_id INTEGER NOT NULL,    -- session_transcripts.id of the present one
  session_id    TEXT NOT NULL,       -- its name
  messages      INTEGER NOT NULL,    -- in it
  label         TEXT NOT NULL,       -- '' for none
  spawner       TEXT NOT NULL,       -- key of the session that has spawned it, or ''
  settings      TEXT NOT NULL,       -- JSON object of what is set, by name; '' for nothing
  title         TEXT NOT NULL,       -- from the first thing that a user said in the transcript
  last_role     TEXT NOT NULL,       -- author of the newest message
  last_text     TEXT NOT NULL,       -- how that begins, on one line
  provider      TEXT NOT NULL,       -- of the newest answer
  model         TEXT NOT NULL,
  input_tokens  INTEGER NOT NULL,    -- of the newest answer that said so
  output_tokens INTEGER NOT NULL,
  total_tokens  INTEGER NOT NULL,
  tokens_fresh  INTEGER NOT NULL,    -- 1: they are of this transcript
  last_channel  TEXT NOT NULL,       -- where it was last spoken to
  last_to       TEXT NOT NULL,
  last_account  TEXT NOT NULL,
  last_thread   TEXT NOT NULL,
  aborted       INTEGER NOT NULL     -- 1: the newest answer was broken off
) STRICT;
CREATE INDEX sessions_by_change ON sessions (updated_at DESC, made_seq);
CREATE INDEX sessions_by_agent ON sessions (agent, updated_at DESC, made_seq);

CREATE TABLE session_labels (
  label      TEXT PRIMARY KEY,
  session_id INTEGER NOT NULL -- sessions.id; no label has two
) STRICT, WITHOUT ROWID;

CREATE TABLE session_agents (
  agent    TEXT PRIMARY KEY,
  sessions INTEGER NOT NULL, -- how many it has
  seq      INTEGER NOT NULL  -- of the event that changed one of them last, deletions included
) STRICT, WITHOUT ROWID;

CREATE TABLE session_transcripts (
  id         INTEGER PRIMARY KEY, -- seq of the event that began it
  session_id TEXT NOT NULL UNIQUE, -- its name
  key_id     INTEGER NOT NULL,     -- session_keys.id
  opened_at  INTEGER NOT NULL,     -- ms since 1970
  closed_at  INTEGER NOT NULL,     -- ms since 1970; 0 while it is the present one
  closed     TEXT NOT NULL,        -- why: new, reset, deleted; '' while it is the present one
  messages   INTEGER NOT NULL      -- once it is closed; until then sessions.messages counts
) STRICT;
CREATE INDEX session_transcripts_by_key ON session_transcripts (key_id);

CREATE TABLE session_messages ( -- which event is in which transcript; what was said is in events alone
  transcript_id INTEGER NOT NULL,
  seq           INTEGER NOT NULL,
  PRIMARY KEY (transcript_id, seq)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_sessions AS
SELECT key, agent, kind, session_id, nullif(label, '') AS label, title, nullif(spawner, '') AS spawned_by,
       CASE settings WHEN '' THEN '{}' ELSE settings END AS settings, messages, last_role, last_text, nullif(provider, '') AS provider,
       nullif(model, '') AS model, input_tokens, output_tokens, total_tokens, tokens_fresh, nullif(last_channel, '') AS last_channel,
       nullif(last_to, '') AS last_to, nullif(last_account, '') AS last_account, nullif(last_thread, '') AS last_thread,
       aborted AS aborted_last_run,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at, updated_at AS updated_ms, seq
  FROM sessions;

CREATE VIEW v_session_transcripts AS
SELECT k.name AS key, t.session_id, t.closed = '' AS present, coalesce(s.messages, t.messages) AS messages, nullif(t.closed, '') AS closed,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.opened_at / 1000.0, 'unixepoch') AS opened_at, t.opened_at AS opened_ms,
       CASE WHEN t.closed <> '' THEN strftime('%Y-%m-%dT%H:%M:%fZ', t.closed_at / 1000.0, 'unixepoch') END AS closed_at,
       CASE WHEN t.closed <> '' THEN t.closed_at END AS closed_ms, t.id AS seq
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id LEFT JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id
 WHERE t.id > k.hidden;

CREATE VIEW v_session_messages AS
SELECT k.name AS key, t.session_id, e.data ->> '$.author' AS author, e.data ->> '$.text' AS text,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.ts / 1000.0, 'unixepoch') AS at, e.ts AS at_ms, m.seq
  FROM session_messages m JOIN session_transcripts t ON t.id = m.transcript_id JOIN session_keys k ON k.id = t.key_id
  JOIN events e ON e.seq = m.seq
 WHERE t.id > k.hidden;

-- +goose Down
DROP VIEW v_session_messages;
DROP VIEW v_session_transcripts;
DROP VIEW v_sessions;
DROP TABLE session_messages;
DROP TABLE session_transcripts;
DROP TABLE session_agents;
DROP TABLE session_labels;
DROP TABLE sessions;
DROP TABLE session_keys;
