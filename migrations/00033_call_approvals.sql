-- +goose Up
-- Projection "permission": calls of tools that wait for people, and what was decided. A decision table.
CREATE TABLE call_approvals (
  id           INTEGER PRIMARY KEY, -- seq of the event that requested it
  name         TEXT NOT NULL,     -- of its stream, after call_approval/: its id, or the hash of one that cannot stand in a name
  approval_id  TEXT NOT NULL,     -- '' if it is the name
  agent        TEXT NOT NULL,     -- in lower case
  tool         TEXT NOT NULL,     -- '' if the request was redacted
  server       TEXT NOT NULL,     -- MCP server, or ''
  call_hash    TEXT NOT NULL,     -- of agent, tool and arguments
  session_key  TEXT NOT NULL,     -- or ''
  run_id       TEXT NOT NULL,     -- run that waits, or ''
  first_run_id TEXT NOT NULL,     -- first attempt at that run, or ''
  task_id      TEXT NOT NULL,     -- or ''
  work_session_id TEXT NOT NULL,  -- or ''
  status       TEXT NOT NULL,     -- pending, approved, rejected, expired, cancelled
  scope        TEXT NOT NULL,     -- of a permission that outlasts the call: call, tool; or ''
  requested_at INTEGER NOT NULL,  -- ms since 1970, as all times
  expire_at    INTEGER NOT NULL,  -- when a pending one counts as expired
  decided_at   INTEGER NOT NULL,  -- 0 while it is pending
  revoked_at   INTEGER NOT NULL,  -- 0 if it was not taken back
  decided_by   TEXT NOT NULL,     -- or ''
  reason       TEXT NOT NULL,     -- of a rejection, or ''
  version      INTEGER NOT NULL,  -- of its stream
  last_seq     INTEGER NOT NULL   -- of the last event that changed it
) STRICT;
CREATE UNIQUE INDEX call_approvals_by_name ON call_approvals (name);
CREATE INDEX call_approvals_pending ON call_approvals (agent, id) WHERE status = 'pending';
CREATE INDEX call_approvals_of_run ON call_approvals (first_run_id) WHERE status = 'pending';
CREATE INDEX call_approvals_by_last ON call_approvals (last_seq);
CREATE INDEX call_approvals_lasting ON call_approvals (agent, tool, id) WHERE status = 'approved' AND scope <> '' AND revoked_at = 0;

-- +goose StatementBegin
CREATE VIEW v_call_approvals ( -- Calls of tools that waited for a person.
  approval_id, -- text: the id by which people decide
  agent, -- text: the agent that calls
  tool, -- text: the tool, or NULL if the request was redacted
  status, -- text: pending, approved, rejected, expired, cancelled; a pending one may be due to expire
  scope, -- text: call or tool if the permission outlasts the call, or NULL
  requested_at, -- text: when it was requested
  expires_at, -- text: when it counts as refused
  decided_at, -- text: when it was decided, or NULL
  decided_by, -- text: the person, or NULL
  reason, -- text: of a rejection, or NULL
  revoked, -- integer: 1: the permission was taken back
  session_key, -- text: the session, or NULL
  run_id, -- text: the run that waits, or NULL
  seq -- integer: of the event that requested it
) AS
SELECT CASE approval_id WHEN '' THEN name ELSE approval_id END, agent, nullif(tool, ''), status, nullif(scope, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', requested_at / 1000.0, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%fZ', expire_at / 1000.0, 'unixepoch'),
       CASE WHEN decided_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', decided_at / 1000.0, 'unixepoch') END,
       nullif(decided_by, ''), nullif(reason, ''), revoked_at > 0, nullif(session_key, ''), nullif(run_id, ''), id
  FROM call_approvals;
-- +goose StatementEnd

-- +goose Down
DROP VIEW v_call_approvals;
DROP TABLE call_approvals;
