-- +goose Up
-- Projection "conversation": what operators have said of the categories of work sessions. From here on the category of a work session,
-- also in its lists and in the census, is the operator's where there is one, and else by vote.
CREATE TABLE category_overrides (
  name        TEXT PRIMARY KEY, -- workSessionId; such a session need not exist
  category    TEXT NOT NULL,    -- '': the override was taken back
  updated_at  TEXT NOT NULL,    -- as the operator's side tells it
  updated_by  TEXT NOT NULL,    -- '': nobody was named
  seq         INTEGER NOT NULL, -- the event that said so last
  recorded_at INTEGER NOT NULL  -- ms since 1970: when that was stored
) STRICT, WITHOUT ROWID;

CREATE TABLE category_changes (
  name       TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  category   TEXT NOT NULL, -- '': taken back
  updated_at TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (name, seq)
) STRICT, WITHOUT ROWID;

-- It has three more columns, at the end.
DROP VIEW v_work_sessions;
CREATE VIEW v_work_sessions AS
SELECT s.name AS work_session, p.title,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.start_time / 1000.0, 'unixepoch') AS started_at, s.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.last_time / 1000.0, 'unixepoch') AS last_at, s.last_time AS last_ms,
       CASE WHEN (julianday('now') - 2440587.5) * 86400000.0 - s.last_time > 86400000.0 THEN 'ARCHIVED'
            WHEN s.latest_terminal AND s.open_threads = 0 AND s.open_tasks = 0 THEN 'QUIET' ELSE 'ACTIVE' END AS status,
       s.outcome,
       CASE WHEN s.outcome IN ('blocked', 'no_reply') THEN coalesce(
         (SELECT t.reason FROM threads t WHERE t.session_id = s.id AND t.outcome = s.outcome AND t.reason <> ''
           ORDER BY t.step_time DESC, t.step_seq DESC LIMIT 1),
         (SELECT k.reason FROM session_tasks k WHERE k.session_id = s.id AND k.state = 'blocked'
           ORDER BY k.time DESC, k.seq DESC LIMIT 1), '') ELSE '' END AS reason,
       s.category, s.event_count, s.thread_count, s.open_threads, s.open_tasks, s.blocked_tasks,
       s.conversation_n AS conversation_events, s.delegation_n AS delegation_events, s.orchestration_n AS orchestration_events,
       s.observability_n AS observability_events,
       (SELECT group_concat(j.value ->> '$.agent', ', ') FROM json_each(p.participants) j) AS participants,
       nullif(p.previous, '') AS previous_work_session,
       CASE WHEN o.category <> '' THEN 'manual_override' ELSE 'event' END AS category_source,
       CASE WHEN o.category <> '' THEN o.updated_at END AS category_updated_at,
       CASE WHEN o.category <> '' THEN nullif(o.updated_by, '') END AS category_updated_by
  FROM (SELECT *, CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
                       WHEN waiting_n > 0 THEN 'waiting' WHEN active_n > 0 OR open_tasks > 0 THEN 'active'
                       WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END AS outcome
          FROM work_sessions) s
  JOIN session_profiles p ON p.id = s.id
  LEFT JOIN category_overrides o ON o.name = s.name;

CREATE VIEW v_category_changes AS
SELECT c.name AS work_session, nullif(c.category, '') AS category, c.updated_at, nullif(c.updated_by, '') AS updated_by, c.seq
  FROM category_changes c;

-- +goose Down
DROP VIEW v_category_changes;
DROP VIEW v_work_sessions;
CREATE VIEW v_work_sessions AS
SELECT s.name AS work_session, p.title,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.start_time / 1000.0, 'unixepoch') AS started_at, s.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.last_time / 1000.0, 'unixepoch') AS last_at, s.last_time AS last_ms,
       CASE WHEN (julianday('now') - 2440587.5) * 86400000.0 - s.last_time > 86400000.0 THEN 'ARCHIVED'
            WHEN s.latest_terminal AND s.open_threads = 0 AND s.open_tasks = 0 THEN 'QUIET' ELSE 'ACTIVE' END AS status,
       s.outcome,
       CASE WHEN s.outcome IN ('blocked', 'no_reply') THEN coalesce(
         (SELECT t.reason FROM threads t WHERE t.session_id = s.id AND t.outcome = s.outcome AND t.reason <> ''
           ORDER BY t.step_time DESC, t.step_seq DESC LIMIT 1),
         (SELECT k.reason FROM session_tasks k WHERE k.session_id = s.id AND k.state = 'blocked'
           ORDER BY k.time DESC, k.seq DESC LIMIT 1), '') ELSE '' END AS reason,
       s.category, s.event_count, s.thread_count, s.open_threads, s.open_tasks, s.blocked_tasks,
       s.conversation_n AS conversation_events, s.delegation_n AS delegation_events, s.orchestration_n AS orchestration_events,
       s.observability_n AS observability_events,
       (SELECT group_concat(j.value ->> '$.agent', ', ') FROM json_each(p.participants) j) AS participants,
       nullif(p.previous, '') AS previous_work_session
  FROM (SELECT *, CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
                       WHEN waiting_n > 0 THEN 'waiting' WHEN active_n > 0 OR open_tasks > 0 THEN 'active'
                       WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END AS outcome
          FROM work_sessions) s
  JOIN session_profiles p ON p.id = s.id;
DROP TABLE category_changes;
DROP TABLE category_overrides;
