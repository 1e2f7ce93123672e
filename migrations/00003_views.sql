-- +goose Up
-- The stable surface for people who ask SQL. Names and columns of views are kept across releases; the tables under them are not.
-- Times end in _at, as ISO 8601 UTC text with milliseconds, and come with the plain ms column where arithmetic is wanted.

CREATE VIEW v_events AS
SELECT e.seq,
       lower(substr(hex(e.id), 1, 8) || '-' || substr(hex(e.id), 9, 4) || '-' || substr(hex(e.id), 13, 4) || '-' ||
             substr(hex(e.id), 17, 4) || '-' || substr(hex(e.id), 21)) AS id,
       s.name AS stream, e.version, e.type, e.ver, e.agent_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', i.time / 1000.0, 'unixepoch') AS happened_at, i.time AS time_ms, i.time_source,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.recorded_at / 1000.0, 'unixepoch') AS recorded_at,
       e.correlation_id, e.causation_id, e.actor,
       f.role, i.role_guessed, i.from_type, i.to_type, f.category, i.secondary, i.sub_tags, i.confidence, i.source AS category_source,
       i.version AS category_version, f.internal,
       e.data ->> '$.workSessionId' AS work_session, e.data ->> '$.conversationId' AS conversation, e.data ->> '$.taskId' AS task,
       e.data ->> '$.message' AS message, e.data, e.original, e.data IS NULL AS redacted
  FROM events e JOIN streams s ON s.id = e.stream_id
  LEFT JOIN event_index i ON i.seq = e.seq LEFT JOIN facets f ON f.id = i.facet_id;

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

CREATE VIEW v_conversations AS
SELECT w.name AS work_session, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.key AS thread,
       t.from_agent, t.to_agent, t.outcome, t.open, t.reason, t.category, t.event_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.start_time / 1000.0, 'unixepoch') AS started_at, t.start_time AS start_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms,
       nullif(t.parent_id, '') AS parent_conversation
  FROM threads t JOIN work_sessions w ON w.id = t.session_id;

-- Conversations that were not delivered or not answered. It has an index of its own.
CREATE VIEW v_trouble AS
SELECT w.name AS work_session, p.title, CASE WHEN t.key LIKE 'conv:%' THEN substr(t.key, 6) END AS conversation, t.from_agent, t.to_agent,
       t.outcome, t.reason, strftime('%Y-%m-%dT%H:%M:%fZ', t.last_time / 1000.0, 'unixepoch') AS last_at, t.last_time AS last_ms
  FROM threads t JOIN work_sessions w ON w.id = t.session_id JOIN session_profiles p ON p.id = t.session_id
 WHERE t.outcome IN ('blocked', 'no_reply');

CREATE VIEW v_participants AS
SELECT w.name AS work_session, j.value ->> '$.agent' AS agent, j.value ->> '$.name' AS name, j.value ->> '$.type' AS session_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', w.last_time / 1000.0, 'unixepoch') AS last_at
  FROM work_sessions w JOIN session_profiles p ON p.id = w.id, json_each(p.participants) j;

CREATE VIEW v_tasks AS
SELECT t.task_id AS task, w.name AS work_session, t.state, t.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.time / 1000.0, 'unixepoch') AS since_at, t.time AS since_ms
  FROM session_tasks t JOIN work_sessions w ON w.id = t.session_id;

CREATE VIEW v_routes AS
SELECT route_key, conversation_id AS conversation, last_event_type, run_id AS run,
       strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS last_at, time AS last_ms, seq
  FROM routes;

CREATE VIEW v_event_counts AS
SELECT strftime('%Y-%m-%dT%H:00Z', h.hour * 3600, 'unixepoch') AS hour, f.role, f.type, f.category, f.internal, h.n AS events
  FROM facet_hours h JOIN facets f ON f.id = h.facet_id;

CREATE VIEW v_rejected_lines AS
SELECT e.seq, e.data ->> '$.file' AS file, e.data ->> '$.line' AS line, e.data ->> '$.reason' AS reason, e.data ->> '$.bytes' AS bytes,
       e.data ->> '$.text' AS text, strftime('%Y-%m-%dT%H:%M:%fZ', e.recorded_at / 1000.0, 'unixepoch') AS recorded_at
  FROM events e WHERE e.type = 'import.rejected';

CREATE VIEW v_projections AS
SELECT name, kind, version, state, seq, (SELECT coalesce(max(seq), 0) FROM events) - seq AS behind, parked_seq, parked_error
  FROM projections;

-- +goose Down
DROP VIEW v_projections;
DROP VIEW v_rejected_lines;
DROP VIEW v_event_counts;
DROP VIEW v_routes;
DROP VIEW v_tasks;
DROP VIEW v_participants;
DROP VIEW v_trouble;
DROP VIEW v_conversations;
DROP VIEW v_work_sessions;
DROP VIEW v_events;
