-- +goose Up
-- Projection "response": what agents have asked each other in Discord, what became of it, and the threads that can be used again for the same. A
-- decision table.
CREATE TABLE collaborations (
  id              INTEGER PRIMARY KEY,  -- seq of the event that made it known
  name            TEXT NOT NULL UNIQUE, -- of its stream, after collab/: its id, or the hash of one that cannot stand in a name
  collab_id       TEXT NOT NULL,        -- '' where name is its id
  from_agent      TEXT NOT NULL,        -- that has asked, in lower case
  target_agent    TEXT NOT NULL,        -- that was asked, likewise; '' where that is redacted, as with what follows
  pair            TEXT NOT NULL,        -- both as they are called, sorted, <agent>::<agent>, of one that counts for them; ''
  accepted_at     INTEGER NOT NULL,     -- ms since 1970: when it was taken on first
  version         INTEGER NOT NULL,     -- of its stream, with its last event
  last_seq        INTEGER NOT NULL,     -- of the last event that is about it
  key             TEXT NOT NULL,        -- what makes it the same as another one
  asked_at        INTEGER NOT NULL,     -- ms since 1970: when it was taken on last
  asked_seq       INTEGER NOT NULL,     -- of that event; 0: none is known
  route           TEXT NOT NULL,        -- named_thread, shared_thread, reuse_thread, new_thread
  thread_id       TEXT NOT NULL,        -- or ''
  thread_name     TEXT NOT NULL,        -- or ''
  channel_id      TEXT NOT NULL,        -- of the thread, or ''
  guild_id        TEXT NOT NULL,        -- or ''
  session_key     TEXT NOT NULL,        -- that has asked, or ''
  run_id          TEXT NOT NULL,        -- in it, or ''
  work_session_id TEXT NOT NULL,        -- or ''
  hop             INTEGER NOT NULL,     -- how often what it comes from was passed on between agents, this time included; 0: not known
  delivery        TEXT NOT NULL,        -- accepted, sent, failed, delivery_unknown
  code            TEXT NOT NULL,        -- why it was not delivered, or ''
  error           TEXT NOT NULL,        -- the same in words, or ''
  sent_at         INTEGER NOT NULL,     -- ms since 1970; 0: it was not sent
  sent_seq        INTEGER NOT NULL,     -- of that event; 0: it was not sent
  status          TEXT NOT NULL,        -- of one that an answer is waited for: pending, responded, escalated, responded_late, failed; ''
  earlier         TEXT NOT NULL,        -- JSON: as it is held against another one, coordination/collaborate.Earlier
  request         TEXT NOT NULL         -- JSON: as its answer is waited for, coordination/response.Request
) STRICT;
CREATE INDEX collaborations_by_sender ON collaborations (from_agent);
CREATE INDEX collaborations_by_target ON collaborations (target_agent);
CREATE INDEX collaborations_by_status ON collaborations (status) WHERE status <> '';
CREATE INDEX collaborations_by_delivery ON collaborations (delivery);
CREATE INDEX collaborations_by_work_session ON collaborations (work_session_id) WHERE work_session_id <> '';
CREATE INDEX collaborations_by_thread ON collaborations (thread_id) WHERE thread_id <> '';
CREATE INDEX collaborations_sent ON collaborations (thread_id, sent_at, sent_seq) WHERE sent_seq > 0;
CREATE INDEX collaborations_pending ON collaborations (thread_id, sent_at, sent_seq) WHERE status = 'pending';
CREATE INDEX collaborations_open ON collaborations (thread_id, target_agent) WHERE status IN ('pending', 'escalated');
CREATE INDEX collaborations_of_pairs ON collaborations (pair, accepted_at) WHERE pair <> '';
CREATE INDEX collaborations_same ON collaborations (from_agent, asked_at, asked_seq) WHERE asked_seq > 0;

CREATE TABLE collaboration_threads ( -- threads that were opened for requests and are kept, a row for each of what they are kept under
  reuse_key    TEXT PRIMARY KEY,
  direction    TEXT NOT NULL,    -- <agent>:<agent>, who asks first
  last_used_at INTEGER NOT NULL, -- ms since 1970
  thread_id    TEXT NOT NULL,
  thread_name  TEXT NOT NULL,
  channel_id   TEXT NOT NULL,
  created_at   INTEGER NOT NULL, -- ms since 1970
  messages     INTEGER NOT NULL, -- of requests
  seq          INTEGER NOT NULL  -- of the event that opened it
) STRICT, WITHOUT ROWID;
CREATE INDEX collaboration_threads_kept ON collaboration_threads (direction, last_used_at);

CREATE VIEW v_collaborations AS
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

CREATE VIEW v_collaboration_threads AS
SELECT reuse_key, substr(direction, 1, instr(direction, ':') - 1) AS from_agent, substr(direction, instr(direction, ':') + 1) AS to_agent,
       thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, messages,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_used_at / 1000.0, 'unixepoch') AS last_used_at, last_used_at AS last_used_ms, seq
  FROM collaboration_threads;

-- +goose Down
DROP VIEW v_collaboration_threads;
DROP VIEW v_collaborations;
DROP TABLE collaboration_threads;
DROP TABLE collaborations;
