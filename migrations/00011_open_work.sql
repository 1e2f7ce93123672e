-- +goose Up
-- How work sessions and conversations stand takes into account what our own agents are doing: a flow or run that is not over. Of imported logs
-- there is none. Each view has columns more, at the end.
DROP VIEW v_work_sessions;
CREATE VIEW v_work_sessions AS
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

DROP VIEW v_conversations;
CREATE VIEW v_conversations AS
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

-- +goose Down
DROP VIEW v_conversations;
CREATE VIEW v_conversations AS
SELECT w.name AS work_session, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.key AS thread,
       t.from_agent, t.to_agent, t.outcome, t.open, t.reason, t.category, t.event_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.start_time / 1000.0, 'unixepoch') AS started_at, t.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms,
       nullif(t.parent_id, '') AS parent_conversation
  FROM threads t JOIN work_sessions w ON w.id = t.session_id;

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
