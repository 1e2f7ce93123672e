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
, ended_seq INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE a2a_job_states ( -- how many flows there are of one sort; a row for each that there is some of
  kind    TEXT NOT NULL,
  phase   TEXT NOT NULL,
  outcome TEXT NOT NULL, -- of phase over
  flows   INTEGER NOT NULL,
  PRIMARY KEY (kind, phase, outcome)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE a2a_open_handoffs ( -- the one that is open between two agents about one subject
  from_agent TEXT NOT NULL,
  to_agent   TEXT NOT NULL,
  type       TEXT NOT NULL,
  subject    TEXT NOT NULL,
  seq        INTEGER NOT NULL, -- a2a_handoffs.seq
  PRIMARY KEY (from_agent, to_agent, type, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE a2a_permits ( -- targets of flows of kind send that are open
  agent   TEXT PRIMARY KEY,
  active  INTEGER NOT NULL, -- flows that hold a permit
  waiting INTEGER NOT NULL  -- flows that wait for one
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_activity (
  agent TEXT PRIMARY KEY,  -- id in lower case
  seq   INTEGER NOT NULL,  -- of the last event with this agent, without those about files
  at    INTEGER NOT NULL,  -- its own time, in ms since 1970
  type  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE block_times (
  block    INTEGER PRIMARY KEY, -- seq / 256
  n        INTEGER NOT NULL,    -- events
  earliest REAL NOT NULL,       -- time of events, as in event_index
  latest   REAL NOT NULL
) STRICT;

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

CREATE TABLE category_changes (
  name       TEXT NOT NULL,
  seq        INTEGER NOT NULL,
  category   TEXT NOT NULL, -- '': taken back
  updated_at TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (name, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE category_overrides (
  name        TEXT PRIMARY KEY, -- workSessionId; such a session need not exist
  category    TEXT NOT NULL,    -- '': the override was taken back
  updated_at  TEXT NOT NULL,    -- as the operator's side tells it
  updated_by  TEXT NOT NULL,    -- '': nobody was named
  seq         INTEGER NOT NULL, -- the event that said so last
  recorded_at INTEGER NOT NULL  -- ms since 1970: when that was stored
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_people (
  channel    TEXT NOT NULL,
  user_id    TEXT NOT NULL,    -- in the service; '': the wrong codes of the channel
  user_name  TEXT NOT NULL,    -- when the person asked, or ''
  state      TEXT NOT NULL,    -- pending, approved, revoked; ''
  code       TEXT NOT NULL,    -- of pending; ''
  account_id TEXT NOT NULL,    -- the bot that the person wrote to, or ''
  agent      TEXT NOT NULL,    -- its agent, or ''
  channel_id TEXT NOT NULL,    -- the conversation, or ''
  since      INTEGER NOT NULL, -- of the state, ms since 1970
  ends       INTEGER NOT NULL, -- of pending: the end of the request, ms since 1970; 0
  decided_by TEXT NOT NULL,    -- who decided, or ''
  refused    TEXT NOT NULL,    -- JSON: when wrong codes were given lately, ms since 1970; ''
  PRIMARY KEY (channel, user_id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE continuation (
  agent         TEXT PRIMARY KEY,
  failures      INTEGER NOT NULL, -- prompts in a row that have come to nothing
  cause         TEXT NOT NULL,    -- of the last one: rate_limit, billing, timeout, context_overflow, unknown, context_reset; ''
  backoff_until INTEGER NOT NULL, -- ms since 1970; 0: prompts do not pause
  last_seq      INTEGER NOT NULL, -- of the last event that changed it
  state         TEXT NOT NULL     -- JSON: all of it, with what was done for each task that is not over
) STRICT, WITHOUT ROWID;

CREATE TABLE cron_jobs (
  name        TEXT PRIMARY KEY,  -- of its stream, after cron/: its id, or the hash of one that cannot stand in a name
  job_id      TEXT NOT NULL,
  seq         INTEGER NOT NULL,  -- of the event that added it
  label       TEXT NOT NULL,     -- what people call it
  agent       TEXT NOT NULL,     -- in lower case; '' for the default agent
  kind        TEXT NOT NULL,     -- at, every, cron
  enabled     INTEGER NOT NULL,  -- 0 or 1
  next_at     INTEGER NOT NULL,  -- ms since 1970: next due time; 0 for never
  wake_at     INTEGER NOT NULL,  -- ms since 1970: when it is started, later than next_at in a back-off; 0 for never, or while it runs
  run_id      TEXT NOT NULL,     -- run in progress, or ''
  running_at  INTEGER NOT NULL,  -- ms since 1970: since when; 0
  last_status TEXT NOT NULL,     -- ok, error, skipped, or ''
  updated_at  INTEGER NOT NULL,  -- ms since 1970
  last_seq    INTEGER NOT NULL,  -- of the last event about it
  state       TEXT NOT NULL      -- JSON: the job and how far it has come, coordination/schedule.State
) STRICT, WITHOUT ROWID;

CREATE TABLE cron_runs (
  run_id   TEXT PRIMARY KEY,
  job      TEXT NOT NULL,     -- name of its job
  seq      INTEGER NOT NULL,  -- of the event that began it
  due_at   INTEGER NOT NULL,  -- ms since 1970, as all times
  at       INTEGER NOT NULL,  -- when it began
  ended_at INTEGER NOT NULL,  -- 0 while it is not over
  manual   INTEGER NOT NULL,  -- 1: on request
  status   TEXT NOT NULL,     -- ok, error, skipped; '' while it is not over
  delivery TEXT NOT NULL,     -- not-requested, delivered, not-delivered, unknown; ''
  delivery_error TEXT NOT NULL,  -- or ''
  total_tokens INTEGER NOT NULL, -- of all model calls
  end_seq  INTEGER NOT NULL   -- of the event that ended it; 0
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_changes (
  message_id TEXT PRIMARY KEY, -- like discord_messages.message_id
  place_id   TEXT NOT NULL,    -- like discord_messages.place_id
  edited_at  INTEGER NOT NULL, -- when its author edited it last, ms since 1970; 0: never
  deleted_at INTEGER NOT NULL, -- when it was deleted, ms since 1970; 0: it is not
  seq        INTEGER NOT NULL  -- of the last event about it
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_messages (
  id           INTEGER PRIMARY KEY,  -- seq of the first event about it, which has its words
  message_id   TEXT NOT NULL UNIQUE, -- as its stream has it, after discord/: of one that cannot stand in a name the hash
  place_id     TEXT NOT NULL,        -- the thread, else the channel; '' where that is not known any more
  channel_id   TEXT NOT NULL,        -- of a thread: the channel that it hangs below, or ''
  thread_id    TEXT NOT NULL,        -- '' outside of threads
  guild_id     TEXT NOT NULL,        -- '' in direct messages
  author_id    TEXT NOT NULL,        -- the user in Discord
  author_name  TEXT NOT NULL,        -- as it is called, or ''
  author_agent TEXT NOT NULL,        -- the agent that has written it, or ''
  mentioned    TEXT NOT NULL,        -- JSON: the agents that it mentions, [agent, ...] in the order of the text
  system       INTEGER NOT NULL,     -- 1: openclawd has posted it by itself, in an agent's name
  at           INTEGER NOT NULL,     -- when it was sent, ms since 1970
  agents       TEXT NOT NULL         -- JSON: the agents of its verdicts, [agent, ...]
) STRICT;

CREATE TABLE discord_observed (
  place_id   TEXT NOT NULL,
  agent      TEXT NOT NULL,
  slot       INTEGER NOT NULL, -- n modulo 200: what is older than the newest 200 is overwritten
  n          INTEGER NOT NULL, -- the how manieth it is that the agent has observed there
  message_id TEXT NOT NULL,
  at         INTEGER NOT NULL, -- when the message was sent, ms since 1970
  seq        INTEGER NOT NULL, -- of the event that has what is kept of it
  PRIMARY KEY (place_id, agent, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_observers (
  place_id TEXT NOT NULL,
  agent    TEXT NOT NULL,
  first_n  INTEGER NOT NULL, -- what has a lower n in discord_observed is gone
  last_n   INTEGER NOT NULL, -- the highest n
  PRIMARY KEY (place_id, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_pairs (
  pair    TEXT PRIMARY KEY, -- both agents, with :: between, in order
  agent   TEXT NOT NULL,    -- the one
  other   TEXT NOT NULL,    -- and the other
  handled TEXT NOT NULL     -- JSON: when one of them handled what the other one wrote, lately, [ms since 1970, ...]
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_participants (
  thread_id   TEXT NOT NULL,
  agent       TEXT NOT NULL,
  bot_user_id TEXT NOT NULL,    -- or ''
  reason      TEXT NOT NULL,    -- collaborate, mentioned, posted; ''
  since       INTEGER NOT NULL, -- ms since 1970
  left_at     INTEGER NOT NULL, -- when an event said that it takes part no more, ms since 1970; 0: none has
  seq         INTEGER NOT NULL, -- of the event that has registered it
  PRIMARY KEY (thread_id, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_places (
  place_id        TEXT PRIMARY KEY,
  seq             INTEGER NOT NULL, -- of the first event about it
  guild_id        TEXT NOT NULL,    -- '' in direct messages, and where it is not known
  channel_id      TEXT NOT NULL,    -- of a thread: the channel that it hangs below, or ''; else place_id
  thread          INTEGER NOT NULL, -- 1: it is a thread
  name            TEXT NOT NULL,    -- of a thread that was opened here; ''
  kind            TEXT NOT NULL,    -- of such a thread: collab, report; ''
  report_of       TEXT NOT NULL,    -- of a report thread: the conversation between agents that it is about; ''
  opened          INTEGER NOT NULL, -- seq of the event that has last said that it was opened here; 0
  account_id      TEXT NOT NULL,    -- of direct messages: the bot; ''
  last_id         TEXT NOT NULL,    -- the newest message that was decided about, or ''
  last_at         INTEGER NOT NULL, -- when somebody last spoke there, or was registered, ms since 1970; 0
  suspended_until INTEGER NOT NULL, -- ms since 1970; 0: it is not suspended
  suspended_for   TEXT NOT NULL,    -- bot_rate, bot_turns; ''
  talk            TEXT NOT NULL,    -- JSON: how much bots have talked there lately, or ''
  attendance      TEXT NOT NULL     -- JSON: who takes part, since when, and the longest silence that each has seen, or ''
) STRICT, WITHOUT ROWID;

CREATE TABLE discord_posts (
  id          INTEGER PRIMARY KEY,  -- seq of the event that tells of it
  message_id  TEXT NOT NULL UNIQUE,
  place_id    TEXT NOT NULL,        -- the thread, else the channel
  thread_id   TEXT NOT NULL,        -- '' outside of threads
  agent       TEXT NOT NULL,        -- in whose name; ''
  account_id  TEXT NOT NULL,        -- whose bot
  purpose     TEXT NOT NULL,        -- reply, announce, request, reminder, escalate, report, approval, notice, send
  effect_id   TEXT NOT NULL,        -- the work that it was
  run_id      TEXT NOT NULL,        -- that has said it; ''
  collab_id   TEXT NOT NULL,        -- the request that it belongs to; ''
  system      INTEGER NOT NULL,     -- 1: openclawd says it by itself
  at          INTEGER NOT NULL      -- ms since 1970
) STRICT;

CREATE TABLE discord_verdicts (
  message    INTEGER NOT NULL, -- discord_messages.id
  agent      TEXT NOT NULL,    -- '' where no agent was concerned, or it is not known any more who
  account_id TEXT NOT NULL,    -- of a handler: the bot that answers; ''
  mode       TEXT NOT NULL,    -- handler, observer, dropped
  reason     TEXT NOT NULL,    -- why; '' where that is not known any more
  ord        TEXT NOT NULL,    -- primary, secondary; ''
  run_id     TEXT NOT NULL,    -- of a handler: the run that was asked for; ''
  seq        INTEGER NOT NULL, -- of the event that says so
  PRIMARY KEY (message, agent)
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
, agents TEXT NOT NULL DEFAULT '[]', failed INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE events (
  seq            INTEGER PRIMARY KEY, -- gapless, assigned by the writer
  id             BLOB NOT NULL CHECK (length(id) = 16), -- UUIDv7
  stream_id      INTEGER NOT NULL,    -- streams.id
  version        INTEGER NOT NULL,    -- position in the stream, from 1
  type           TEXT NOT NULL,
  ver            INTEGER NOT NULL,    -- version of the shape of data
  agent_id       TEXT NOT NULL,       -- '' where an imported line names none
  ts             INTEGER NOT NULL,    -- ms since 1970: when it happened; never orders the log
  recorded_at    INTEGER NOT NULL,    -- ms since 1970: when it was stored; never decreases
  correlation_id TEXT NOT NULL,
  causation_id   TEXT NOT NULL,
  actor          TEXT NOT NULL,       -- human, agent, system, schedule, import
  data           TEXT CHECK (data IS NULL OR json_valid(data)), -- JSON object; NULL once redacted
  original       TEXT,                -- envelope of an imported line that the columns cannot reproduce
  salt           BLOB,                -- 16 bytes; NULL once redacted
  data_hash      BLOB NOT NULL,       -- SHA-256(salt, data, original)
  hash           BLOB NOT NULL        -- SHA-256(previous hash, columns, data_hash)
) STRICT;

CREATE TABLE facet_blocks (
  block    INTEGER NOT NULL, -- seq / 256
  facet_id INTEGER NOT NULL,
  bits     BLOB NOT NULL,    -- 32 bytes; bit seq % 256, lowest bit of the first byte first
  PRIMARY KEY (block, facet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE facet_hours (
  hour      INTEGER NOT NULL,   -- event time / 3,600,000 ms
  facet_id  INTEGER NOT NULL,
  n         INTEGER NOT NULL,   -- events
  first_seq INTEGER NOT NULL,   -- lowest seq among them
  PRIMARY KEY (hour, facet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE facets (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,    -- 1: our own family, left out of the Task-Monitor unless scope=all
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  category TEXT NOT NULL,
  n        INTEGER NOT NULL, from_unknown INTEGER NOT NULL DEFAULT 0, to_unknown INTEGER NOT NULL DEFAULT 0, role_guessed INTEGER NOT NULL DEFAULT 0, category_fallback INTEGER NOT NULL DEFAULT 0,    -- events
  UNIQUE (internal, role, type, category)
) STRICT;

CREATE TABLE list_slots (
  slot INTEGER NOT NULL,
  list TEXT NOT NULL,
  n    INTEGER NOT NULL, -- sessions that stand in the list at this slot; their sum is the length of the list
  PRIMARY KEY (slot, list)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark_blocks (
  block  INTEGER NOT NULL, -- seq / 256
  agent  TEXT NOT NULL,
  failed INTEGER NOT NULL,
  bits   BLOB NOT NULL,    -- bit seq % 256: the event has the mark
  PRIMARY KEY (block, agent, failed)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark_facets (
  agent     TEXT NOT NULL,     -- id in lower case of the subject, sender or receiver; '' for every event
  failed    INTEGER NOT NULL,  -- 1: only events that report a failure
  facet_id  INTEGER NOT NULL,
  n         INTEGER NOT NULL,  -- events
  first_seq INTEGER NOT NULL,  -- lowest seq among them
  PRIMARY KEY (agent, failed, facet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
  id              INTEGER PRIMARY KEY,  -- seq of the event that made it known
  name            TEXT NOT NULL UNIQUE, -- of its stream, after plan/: its id, or the hash of one that cannot stand in a name
  plan_id         TEXT NOT NULL,        -- '' where name is its id
  agent           TEXT NOT NULL,        -- that has submitted it
  version         INTEGER NOT NULL,     -- of its stream, by the last event that changed it
  last_seq        INTEGER NOT NULL,     -- of that event
  task_id         TEXT NOT NULL,        -- that it is for; '' where that is not known any more
  work_session_id TEXT NOT NULL,        -- or ''
  session_key     TEXT NOT NULL,        -- the session that has submitted it, or ''
  title           TEXT NOT NULL,
  steps           TEXT NOT NULL,        -- JSON: [text, ...] in order
  steps_count     INTEGER NOT NULL,     -- how many there are, known or not
  tools           TEXT NOT NULL,        -- JSON: names of the tools that it asks for, [name, ...]
  status          TEXT NOT NULL,        -- pending, approved, rejected
  submitted_at    INTEGER NOT NULL,     -- ms since 1970
  decided_at      INTEGER NOT NULL,     -- ms since 1970; 0 while it is pending
  decided_by      TEXT NOT NULL,        -- the agent, or the person; ''
  reason          TEXT NOT NULL         -- why it was rejected, or ''
) STRICT;

CREATE TABLE projections (
  name         TEXT PRIMARY KEY,
  version      TEXT NOT NULL,    -- of the code and its rules; another one means rebuild
  kind         TEXT NOT NULL,    -- decision, read-model
  state        TEXT NOT NULL,    -- live, parked, rebuilding
  seq          INTEGER NOT NULL, -- the tables reflect the log up to here
  context      TEXT NOT NULL CHECK (json_valid(context)), -- configuration folded from config.applied up to seq
  parked_seq   INTEGER,          -- the event that could not be applied
  parked_error TEXT,
  parked_at    INTEGER           -- ms since 1970
) STRICT, WITHOUT ROWID;

CREATE TABLE redactions_here (
  seq INTEGER PRIMARY KEY -- of a log.redacted that the files of this node have carried out
) STRICT;

CREATE TABLE routes (
  id              INTEGER PRIMARY KEY, -- seq of its first event
  route_key       TEXT NOT NULL UNIQUE, -- <workSessionId>::<agent>|<agent>, agents in lower case, sorted
  conversation_id TEXT NOT NULL,
  time            REAL NOT NULL,
  seq             INTEGER NOT NULL,
  last_event_type TEXT NOT NULL,
  run_id          TEXT NOT NULL
) STRICT;

CREATE TABLE run_passes (
  id   INTEGER PRIMARY KEY, -- seq of the event that passes something on: it begins a flow, or queues a run
  root TEXT NOT NULL,       -- the run with which the chain began
  pair TEXT NOT NULL,       -- the two agents, in the order of their ids, with | between them
  at   INTEGER NOT NULL     -- ms since 1970
) STRICT;

CREATE TABLE run_states (
  state TEXT PRIMARY KEY,
  runs  INTEGER NOT NULL -- how many are in it
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  id            INTEGER PRIMARY KEY,  -- seq of the event that queued it
  name          TEXT NOT NULL UNIQUE, -- of its stream, after run/: its id, or the hash of one that cannot stand in a name
  run_id        TEXT NOT NULL,        -- '' where name is its id
  place         INTEGER NOT NULL,     -- in its session's queue: id, or for what repeats another run the place of that
  queued_at     INTEGER NOT NULL,     -- ms since 1970
  agent         TEXT NOT NULL,
  lane          TEXT NOT NULL,        -- main, nested, subagent
  cause         TEXT NOT NULL,        -- agent, chat, http, a2a, ...
  retry_of      TEXT NOT NULL,        -- id of the run that it repeats, or ''
  session_key   TEXT NOT NULL,
  state         TEXT NOT NULL,        -- queued, running, ok, error, aborted, timed_out
  session_id    TEXT NOT NULL,        -- of the transcript that it speaks in, or that it is meant for; ''
  started_at    INTEGER NOT NULL,     -- ms since 1970; 0: not yet, or never
  ended_at      INTEGER NOT NULL,     -- ms since 1970; 0: not yet
  over_seq      INTEGER NOT NULL,     -- of the event that ended it; 0: none has
  provider      TEXT NOT NULL,        -- that answered last
  model         TEXT NOT NULL,
  stop_reason   TEXT NOT NULL,        -- of ok
  reason        TEXT NOT NULL,        -- of aborted
  error_class   TEXT NOT NULL,        -- of error
  input_tokens  INTEGER NOT NULL,     -- of all its calls of models
  output_tokens INTEGER NOT NULL,
  total_tokens  INTEGER NOT NULL,
  model_calls   INTEGER NOT NULL,
  tool_calls    INTEGER NOT NULL
, job TEXT NOT NULL DEFAULT '', work_session TEXT NOT NULL DEFAULT '', conversation TEXT NOT NULL DEFAULT '', parent_run TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE session_agents (
  agent    TEXT PRIMARY KEY,
  sessions INTEGER NOT NULL, -- how many it has
  seq      INTEGER NOT NULL  -- of the event that changed one of them last, deletions included
) STRICT, WITHOUT ROWID;

CREATE TABLE session_census ( -- how many sessions hold just these kinds of events, by category
  signature TEXT NOT NULL,    -- kind ids, ascending, with commas
  category  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (signature, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_events (
  session_id INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  thread_id  INTEGER NOT NULL,
  kind_id    INTEGER NOT NULL,
  time       REAL NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_hours ( -- how many work sessions with just these kinds of events had their last event in an hour, by category
  hour      INTEGER NOT NULL, -- time / 3,600,000 ms, rounded down
  signature TEXT NOT NULL,    -- as in session_census
  category  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (hour, signature, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_keys (
  id     INTEGER PRIMARY KEY,  -- seq of the first event of a session of this key
  name   TEXT NOT NULL UNIQUE, -- e.g. agent:eden:main; it stays when the session is deleted
  hidden INTEGER NOT NULL      -- seq of the newest event that deleted transcripts: what was begun before it is not listed
) STRICT;

CREATE TABLE session_kinds (
  id       INTEGER PRIMARY KEY, -- seq of the first event with this combination
  internal INTEGER NOT NULL,
  role     TEXT NOT NULL,
  type     TEXT NOT NULL,
  UNIQUE (internal, role, type)
) STRICT;

CREATE TABLE session_labels (
  label      TEXT PRIMARY KEY,
  session_id INTEGER NOT NULL -- sessions.id; no label has two
) STRICT, WITHOUT ROWID;

CREATE TABLE session_members ( -- the work sessions of an agent: those that have it in session_profiles.participants
  agent      TEXT NOT NULL,    -- id in lower case
  session_id INTEGER NOT NULL, -- work_sessions.id
  PRIMARY KEY (agent, session_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_messages ( -- which event is in which transcript; what was said is in events alone
  transcript_id INTEGER NOT NULL,
  seq           INTEGER NOT NULL,
  PRIMARY KEY (transcript_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_profiles (
  id           INTEGER PRIMARY KEY, -- work_sessions.id
  title        TEXT NOT NULL,
  title_rank   INTEGER NOT NULL,    -- of the event that the title is from: -1 is best
  title_time   REAL NOT NULL,
  participants TEXT NOT NULL, -- [{agent, name, type}, ...]
  previous     TEXT NOT NULL        -- previousWorkSessionId, or ''
) STRICT;

CREATE TABLE session_slots (
  slot       INTEGER NOT NULL,
  session_id INTEGER NOT NULL,
  lists      TEXT NOT NULL, -- JSON: [list, ...]
  PRIMARY KEY (slot, session_id)
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

CREATE TABLE session_transcripts (
  id         INTEGER PRIMARY KEY, -- seq of the event that began it
  session_id TEXT NOT NULL UNIQUE, -- its name
  key_id     INTEGER NOT NULL,     -- session_keys.id
  opened_at  INTEGER NOT NULL,     -- ms since 1970
  closed_at  INTEGER NOT NULL,     -- ms since 1970; 0 while it is the present one
  closed     TEXT NOT NULL,        -- why: new, reset, deleted; '' while it is the present one
  messages   INTEGER NOT NULL      -- once it is closed; until then sessions.messages counts
) STRICT;

CREATE TABLE session_usage (
  quarter      INTEGER NOT NULL,  -- of an hour: ms since 1970 / 900000
  session_key  TEXT NOT NULL,
  provider     TEXT NOT NULL,     -- or ''
  model        TEXT NOT NULL,     -- or ''
  agent        TEXT NOT NULL,     -- of the key, in lower case, or ''
  answers      INTEGER NOT NULL,
  questions    INTEGER NOT NULL,  -- answers that ended a turn
  failed       INTEGER NOT NULL,  -- answers that are errors
  tool_calls   INTEGER NOT NULL,  -- results of tools that follow them
  unpriced     INTEGER NOT NULL,  -- answers that say no cost
  input_tokens       INTEGER NOT NULL, -- those of the cache included
  output_tokens      INTEGER NOT NULL,
  total_tokens       INTEGER NOT NULL,
  cache_read_tokens  INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  input_cost         INTEGER NOT NULL, -- 10^-9 of what the prices are in, as all costs
  output_cost        INTEGER NOT NULL,
  cache_read_cost    INTEGER NOT NULL,
  cache_write_cost   INTEGER NOT NULL,
  total_cost         INTEGER NOT NULL,
  first_at     INTEGER NOT NULL,  -- ms since 1970
  last_at      INTEGER NOT NULL,
  PRIMARY KEY (quarter, session_key, provider, model)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE shared_copy (
  one INTEGER PRIMARY KEY CHECK (one = 1) -- there is a row if this file is a copy of a shared log, which alone takes appends
) STRICT;

CREATE TABLE streams (
  id   INTEGER PRIMARY KEY, -- seq of the stream's first event
  name TEXT NOT NULL UNIQUE -- e.g. task/task_ab12, conversation/<uuid>
) STRICT;

CREATE TABLE task_delegations (
  id          INTEGER PRIMARY KEY,  -- seq of the event that made it
  name        TEXT NOT NULL UNIQUE, -- its id: the job of its first attempt
  task        INTEGER NOT NULL,     -- tasks.id
  agent       TEXT NOT NULL,        -- who does it
  from_agent  TEXT NOT NULL,        -- who has delegated it
  job_id      TEXT NOT NULL,        -- of the attempt under way, or of the last; as with what follows
  run_id      TEXT NOT NULL,
  child_key   TEXT NOT NULL,
  label       TEXT NOT NULL,        -- or ''
  work        TEXT NOT NULL,        -- what is to be done
  status      TEXT NOT NULL,        -- spawned, running, completed, failed, verified, rejected, retrying, abandoned
  retries     INTEGER NOT NULL,
  most        INTEGER NOT NULL,     -- retries that there may be
  snapshot    TEXT NOT NULL,        -- what came of it, or ''
  error       TEXT NOT NULL,        -- or ''
  note        TEXT NOT NULL,        -- of who has looked at it, or ''
  decided_by  TEXT NOT NULL,        -- or ''
  created_at  INTEGER NOT NULL,     -- ms since 1970
  ended_at    INTEGER NOT NULL,     -- ms since 1970; 0: an attempt is under way
  last_seq    INTEGER NOT NULL,     -- of the last event that changed it
  events      TEXT NOT NULL         -- JSON: what has happened to it, [{type, seq, at, note}, ...]
) STRICT;

CREATE TABLE task_files (
  path     TEXT PRIMARY KEY, -- workspace-<agent>/tasks/<id>.md, workspace-<agent>/CURRENT_TASK.md, workspace-<agent>/task-history/<month>.md
  sha256   TEXT NOT NULL,    -- that it has, or is going to have; '' if it is not there, or is to be removed
  previous TEXT NOT NULL,    -- that it had before it was written; ''
  through  INTEGER NOT NULL, -- of a month: seq of the end of the last task in it
  ours     INTEGER NOT NULL, -- 1: it was written by this gateway; 0: it was seen
  points   TEXT NOT NULL,    -- of a CURRENT_TASK.md that was seen: the task that it names, or ''
  seq      INTEGER NOT NULL  -- of the last event about it
) STRICT, WITHOUT ROWID;

CREATE TABLE task_progress (
  id       INTEGER PRIMARY KEY, -- place
  task     INTEGER NOT NULL,    -- tasks.id
  n        INTEGER NOT NULL,    -- which line of it, from 1
  previous INTEGER NOT NULL,    -- the line before it; 0: it is the first
  at       INTEGER NOT NULL,    -- ms since 1970: when it was written, or seen
  text     TEXT NOT NULL
) STRICT;

CREATE TABLE task_work (
  id             INTEGER PRIMARY KEY, -- tasks.id
  version        INTEGER NOT NULL,    -- of its stream, by the last event that changed it; 0: it has none
  last_seq       INTEGER NOT NULL,    -- of that event
  active_at      INTEGER NOT NULL,    -- ms since 1970
  focus          INTEGER NOT NULL,    -- seq of the last event by which its agent has turned to it; 0: none
  steps          TEXT NOT NULL,       -- JSON: [{id, content, status, order}, ...] in order
  progress_count INTEGER NOT NULL,    -- lines
  progress       TEXT NOT NULL,       -- the last line, or ''
  first_line     INTEGER NOT NULL,    -- task_progress.id; 0: it has none
  last_line      INTEGER NOT NULL,    -- likewise
  line_sum       INTEGER NOT NULL     -- hash of all lines
) STRICT;

CREATE TABLE tasks (
  id                INTEGER PRIMARY KEY,  -- place of what made it known
  name              TEXT NOT NULL UNIQUE, -- of its stream, after task/: its id, or the hash of one that cannot stand in a name
  task_id           TEXT NOT NULL,        -- '' where name is its id
  agent             TEXT NOT NULL,        -- whose it is
  status            TEXT NOT NULL,        -- pending, pending_approval, in_progress, blocked, backlog, interrupted; completed, cancelled, abandoned, failed
  priority          TEXT NOT NULL,        -- urgent, high, medium, low
  rank              INTEGER NOT NULL,     -- of the priority: 0 is urgent
  due_at            INTEGER NOT NULL,     -- ms since 1970; 2^53 for none, and as with what follows for one that cannot be read
  start_at          INTEGER NOT NULL,     -- likewise
  created_at        INTEGER NOT NULL,     -- ms since 1970
  ended_at          INTEGER NOT NULL,     -- ms since 1970; 0: it has not ended
  over              INTEGER NOT NULL,     -- place of what ended it, or took its file away; 0: it is open
  over_at           INTEGER NOT NULL,     -- ms since 1970: when; 0: it is open
  month             TEXT NOT NULL,        -- of the history that has it, such as 2026-02; ''
  gone              INTEGER NOT NULL,     -- 1: it was known from a file that is not there any more
  own               INTEGER NOT NULL,     -- 1: it has events; 0: it is known from a file alone
  work_session_id   TEXT NOT NULL,        -- or ''
  previous_id       TEXT NOT NULL,        -- the work session that it belonged to before, or ''
  session_key       TEXT NOT NULL,        -- the session that has started it, or ''
  source            TEXT NOT NULL,        -- user, self, request:<agent>, ...; or ''
  created_by        TEXT NOT NULL,        -- the agent that put it into the backlog, or ''
  simple            INTEGER NOT NULL,     -- 1: it needs no steps
  description       TEXT NOT NULL,
  background        TEXT NOT NULL,        -- its context, or ''
  blocked_reason    TEXT NOT NULL,        -- or ''
  blocked_by        TEXT NOT NULL,        -- JSON: agents that can help, [agent, ...]
  blocked_action    TEXT NOT NULL,        -- what they are to do, or ''
  requests          INTEGER NOT NULL,     -- how often they were asked
  last_index        INTEGER NOT NULL,     -- which of them was asked last; -1: none
  last_asked_at     INTEGER NOT NULL,     -- ms since 1970; 0: never
  escalation        TEXT NOT NULL,        -- none, requesting, escalated, failed, or ''
  failures          INTEGER NOT NULL,     -- requests in a row that did not arrive
  assignee          TEXT NOT NULL,        -- or ''
  depends_on        TEXT NOT NULL,        -- JSON: ids of tasks, [id, ...]
  effort            TEXT NOT NULL,        -- small, medium, large, or ''
  start_date        TEXT NOT NULL,        -- as it was written, or ''
  due_date          TEXT NOT NULL,        -- likewise
  milestone_id      TEXT NOT NULL,        -- or ''
  milestone_item_id TEXT NOT NULL,        -- or ''
  reassigned        INTEGER NOT NULL,     -- how often it went back to the backlog
  outcome           TEXT NOT NULL,        -- JSON: {kind, summary, reason, by, error}; '' until it has ended
  carried           TEXT NOT NULL         -- JSON: what its file had on delegations before it had events, {delegations, events, summary}; ''
) STRICT;

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
  votes       TEXT NOT NULL, reason_code TEXT NOT NULL DEFAULT '', -- as in work_sessions
  UNIQUE (session_id, key)
) STRICT;

CREATE TABLE unsettled (
  state     TEXT NOT NULL,    -- open: a call of a tool, or a command, whose end is not in the log; unknown: a call whose outcome is unknown
  stream_id INTEGER NOT NULL, -- streams.id
  PRIMARY KEY (state, stream_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE work (
  seq         INTEGER PRIMARY KEY,  -- of the event that asked for it; its data is there
  stream      TEXT NOT NULL UNIQUE, -- of its events
  effect_id   TEXT NOT NULL,        -- unique for ever; run/<id> for a run
  kind        TEXT NOT NULL,        -- who does it; run for runs of agents
  key         TEXT NOT NULL,        -- what has the same is done one after the other; a run's is its session's
  pool        TEXT NOT NULL,        -- bounds how much is done at a time; a run's is its lane
  owner       TEXT NOT NULL,        -- an agent, or ''
  since       INTEGER NOT NULL,     -- ms since 1970: when it was asked for
  most        INTEGER NOT NULL,     -- attempts; 0 is as its kind has it
  state       TEXT NOT NULL,        -- waiting, leased, dead; what is done has no row
  due_at      INTEGER NOT NULL,     -- ms since 1970: not before; 0 is at once
  attempt     INTEGER NOT NULL,     -- how many were begun
  lease_until INTEGER NOT NULL,     -- ms since 1970; 0 while it is not leased, or for ever
  error       TEXT NOT NULL,        -- of the newest attempt that failed, or ''
  before      TEXT NOT NULL,        -- stream of the item before it in its key; '' for none, and for what is dead
  after       TEXT NOT NULL         -- likewise behind it
) STRICT;

CREATE TABLE work_keys ( -- keys in which something waits or is leased
  key      TEXT PRIMARY KEY,
  first    TEXT NOT NULL,    -- stream of the first item; only that is ever leased
  last     TEXT NOT NULL,
  waiting  INTEGER NOT NULL, -- how many
  leased   INTEGER NOT NULL, -- 0 or 1
  since    INTEGER NOT NULL, -- ms since 1970: when the first that waits was asked for; 0 if none does
  pool     TEXT NOT NULL,    -- of the first item
  owner    TEXT NOT NULL,    -- likewise
  kind     TEXT NOT NULL,    -- likewise
  seq      INTEGER NOT NULL, -- likewise
  ready_at INTEGER           -- when the first may be begun, ms since 1970, 0 for at once; NULL while it is leased
) STRICT, WITHOUT ROWID;

CREATE TABLE work_lanes ( -- how much there is; a row for each that there is some of
  pool    TEXT NOT NULL,
  owner   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  waiting INTEGER NOT NULL,
  leased  INTEGER NOT NULL,
  dead    INTEGER NOT NULL,
  PRIMARY KEY (pool, owner, kind)
) STRICT, WITHOUT ROWID;

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

CREATE INDEX a2a_handoffs_by_sender ON a2a_handoffs (from_agent);

CREATE INDEX a2a_handoffs_by_target ON a2a_handoffs (to_agent);

CREATE INDEX a2a_handoffs_by_work_session ON a2a_handoffs (work_session_id);

CREATE INDEX a2a_handoffs_ended ON a2a_handoffs (ended_seq) WHERE ended_seq > 0;

CREATE INDEX a2a_handoffs_open ON a2a_handoffs (state) WHERE state = 'open';

CREATE INDEX a2a_jobs_by_conversation ON a2a_jobs (conversation_id);

CREATE INDEX a2a_jobs_by_requester ON a2a_jobs (requester_key);

CREATE INDEX a2a_jobs_by_sender ON a2a_jobs (from_agent);

CREATE INDEX a2a_jobs_by_target ON a2a_jobs (to_agent);

CREATE INDEX a2a_jobs_by_work_session ON a2a_jobs (work_session_id);

CREATE INDEX a2a_jobs_children ON a2a_jobs (requester_key, over_seq) WHERE kind = 'spawn' AND over_seq = 0;

CREATE INDEX a2a_jobs_dispatching ON a2a_jobs (to_agent, phase) WHERE phase = 'dispatching' AND kind = 'send';

CREATE INDEX a2a_jobs_last_sent ON a2a_jobs (requester_key, to_agent) WHERE kind = 'send' AND task_id = '';

CREATE INDEX a2a_jobs_last_sent_to_any ON a2a_jobs (requester_key, kind) WHERE kind = 'send' AND task_id = '';

CREATE INDEX a2a_jobs_open ON a2a_jobs (over_seq) WHERE over_seq = 0;

CREATE INDEX a2a_jobs_open_by_conversation ON a2a_jobs (conversation_id, over_seq) WHERE over_seq = 0;

CREATE INDEX a2a_jobs_open_by_work_session ON a2a_jobs (work_session_id, over_seq) WHERE over_seq = 0;

CREATE INDEX a2a_jobs_over ON a2a_jobs (over_seq) WHERE over_seq > 0;

CREATE INDEX a2a_jobs_spawns ON a2a_jobs (kind) WHERE kind = 'spawn';

CREATE INDEX call_approvals_by_last ON call_approvals (last_seq);

CREATE UNIQUE INDEX call_approvals_by_name ON call_approvals (name);

CREATE INDEX call_approvals_lasting ON call_approvals (agent, tool, id) WHERE status = 'approved' AND scope <> '' AND revoked_at = 0;

CREATE INDEX call_approvals_of_run ON call_approvals (first_run_id) WHERE status = 'pending';

CREATE INDEX call_approvals_pending ON call_approvals (agent, id) WHERE status = 'pending';

CREATE INDEX channel_people_pending ON channel_people (channel, ends) WHERE state = 'pending';

CREATE INDEX collaboration_threads_kept ON collaboration_threads (direction, last_used_at);

CREATE INDEX collaborations_by_delivery ON collaborations (delivery);

CREATE INDEX collaborations_by_last_seq ON collaborations (last_seq);

CREATE INDEX collaborations_by_sender ON collaborations (from_agent);

CREATE INDEX collaborations_by_status ON collaborations (status) WHERE status <> '';

CREATE INDEX collaborations_by_target ON collaborations (target_agent);

CREATE INDEX collaborations_by_thread ON collaborations (thread_id) WHERE thread_id <> '';

CREATE INDEX collaborations_by_work_session ON collaborations (work_session_id) WHERE work_session_id <> '';

CREATE INDEX collaborations_of_pairs ON collaborations (pair, accepted_at) WHERE pair <> '';

CREATE INDEX collaborations_open ON collaborations (thread_id, target_agent) WHERE status IN ('pending', 'escalated');

CREATE INDEX collaborations_pending ON collaborations (thread_id, sent_at, sent_seq) WHERE status = 'pending';

CREATE INDEX collaborations_same ON collaborations (from_agent, asked_at, asked_seq) WHERE asked_seq > 0;

CREATE INDEX collaborations_sent ON collaborations (thread_id, sent_at, sent_seq) WHERE sent_seq > 0;

CREATE INDEX cron_jobs_by_wake ON cron_jobs (wake_at, seq) WHERE wake_at > 0;

CREATE INDEX cron_jobs_running ON cron_jobs (seq) WHERE run_id <> '';

CREATE INDEX cron_runs_by_job ON cron_runs (job, seq);

CREATE INDEX cron_runs_by_seq ON cron_runs (seq);

CREATE INDEX discord_changes_by_place ON discord_changes (place_id, seq);

CREATE INDEX discord_messages_by_place ON discord_messages (place_id);

CREATE INDEX discord_observed_by_agent ON discord_observed (agent, seq);

CREATE INDEX discord_observed_by_seq ON discord_observed (seq DESC, agent);

CREATE INDEX discord_pairs_by_agent ON discord_pairs (agent);

CREATE INDEX discord_pairs_by_other ON discord_pairs (other);

CREATE INDEX discord_participants_by_agent ON discord_participants (agent, thread_id);

CREATE INDEX discord_places_by_last ON discord_places (last_at);

CREATE INDEX discord_places_reports ON discord_places (report_of, channel_id) WHERE report_of <> '';

CREATE INDEX discord_places_suspended ON discord_places (suspended_until) WHERE suspended_until <> 0;

CREATE INDEX discord_places_threads ON discord_places (last_at) WHERE thread = 1;

CREATE INDEX discord_posts_by_agent ON discord_posts (agent);

CREATE INDEX discord_posts_by_effect ON discord_posts (effect_id);

CREATE INDEX discord_posts_by_place ON discord_posts (place_id);

CREATE INDEX discord_posts_by_purpose ON discord_posts (purpose);

CREATE INDEX discord_verdicts_by_agent ON discord_verdicts (agent, message);

CREATE INDEX discord_verdicts_of_handlers ON discord_verdicts (agent, message) WHERE mode = 'handler';

CREATE UNIQUE INDEX events_by_id ON events (id);

CREATE UNIQUE INDEX events_by_stream ON events (stream_id, version);

CREATE INDEX facet_blocks_by_facet ON facet_blocks (facet_id, block);

CREATE INDEX list_slots_by_list ON list_slots (list, slot);

CREATE INDEX mark_blocks_by_mark ON mark_blocks (agent, failed, block);

CREATE INDEX plans_by_agent ON plans (agent);

CREATE INDEX plans_by_agent_and_status ON plans (agent, status);

CREATE INDEX plans_by_status ON plans (status);

CREATE INDEX plans_by_task ON plans (task_id, agent);

CREATE INDEX plans_by_work_session ON plans (work_session_id) WHERE work_session_id <> '';

CREATE INDEX run_passes_by_pair ON run_passes (root, pair);

CREATE INDEX run_passes_by_root ON run_passes (root);

CREATE INDEX runs_by_agent ON runs (agent);

CREATE INDEX runs_by_conversation ON runs (conversation) WHERE conversation <> '';

CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at > 0;

CREATE INDEX runs_by_job ON runs (job) WHERE job <> '';

CREATE INDEX runs_by_root ON runs (retry_of) WHERE retry_of <> '';

CREATE INDEX runs_by_session ON runs (session_key);

CREATE INDEX runs_by_state ON runs (state) WHERE state <> 'ok';

CREATE INDEX runs_by_work_session ON runs (work_session) WHERE work_session <> '';

CREATE INDEX runs_open ON runs (session_key, over_seq, place) WHERE over_seq = 0;

CREATE INDEX runs_open_by_work_session ON runs (work_session, over_seq) WHERE over_seq = 0 AND work_session <> '';

CREATE INDEX session_profiles_by_previous ON session_profiles (previous) WHERE previous <> '';

CREATE INDEX session_transcripts_by_key ON session_transcripts (key_id);

CREATE INDEX session_usage_by_session ON session_usage (session_key, quarter);

CREATE INDEX sessions_by_agent ON sessions (agent, updated_at DESC, made_seq);

CREATE INDEX sessions_by_change ON sessions (updated_at DESC, made_seq);

CREATE INDEX task_delegations_by_task ON task_delegations (task);

CREATE INDEX tasks_by_month ON tasks (agent, month, over) WHERE month <> '';

CREATE INDEX tasks_open ON tasks (over, agent, status) WHERE over = 0;

CREATE INDEX tasks_over ON tasks (over_at) WHERE over <> 0;

CREATE INDEX tasks_over_by_agent ON tasks (agent, over_at) WHERE over <> 0;

CREATE INDEX tasks_over_by_work_session ON tasks (work_session_id, over_at) WHERE over <> 0 AND work_session_id <> '';

CREATE INDEX threads_by_trouble ON threads (outcome, last_time) WHERE outcome IN ('blocked', 'no_reply');

CREATE INDEX work_dead ON work (seq) WHERE state = 'dead';

CREATE INDEX work_leased ON work (seq) WHERE state = 'leased';

CREATE INDEX work_waiting ON work (pool, owner, since) WHERE state = 'waiting';

CREATE INDEX work_keys_ready ON work_keys (pool, owner, kind, ready_at, seq) WHERE ready_at IS NOT NULL;

CREATE INDEX work_sessions_by_outcome ON work_sessions (CASE WHEN blocked_n > 0 OR blocked_tasks > 0 THEN 'blocked' WHEN no_reply_n > 0 THEN 'no_reply'
 WHEN waiting_n > 0 THEN 'waiting' WHEN active_n > 0 OR open_tasks > 0 THEN 'active' WHEN done_n > 0 OR latest_terminal THEN 'done' ELSE 'active' END);

CREATE INDEX work_sessions_open ON work_sessions (open_threads + open_tasks + blocked_tasks > 0);

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ABORT, 'events are append-only: a row is never deleted');
END;

CREATE TRIGGER events_are_only_blanked BEFORE UPDATE ON events
WHEN NOT (new.data IS NULL AND new.original IS NULL AND new.salt IS NULL
  AND new.seq = old.seq AND new.id = old.id AND new.stream_id = old.stream_id AND new.version = old.version
  AND new.type = old.type AND new.ver = old.ver AND new.agent_id = old.agent_id AND new.ts = old.ts
  AND new.recorded_at = old.recorded_at AND new.correlation_id = old.correlation_id
  AND new.causation_id = old.causation_id AND new.actor = old.actor
  AND new.data_hash = old.data_hash AND new.hash = old.hash)
BEGIN
  SELECT RAISE(ABORT, 'events are append-only: only data, original and salt may be blanked, together');
END;

CREATE TRIGGER events_open AFTER INSERT ON events
WHEN new.type IN ('tool.called', 'tool.output') AND new.actor <> 'import' AND NOT coalesce(new.type = 'tool.output' AND new.data ->> '$.ended', 0)
BEGIN
  INSERT OR IGNORE INTO unsettled VALUES ('open', new.stream_id);
END;

CREATE TRIGGER events_settle AFTER INSERT ON events
WHEN new.type IN ('tool.ended', 'tool.outcome_unknown', 'tool.output') AND new.actor <> 'import' AND coalesce(new.type <> 'tool.output' OR new.data ->> '$.ended', 0)
BEGIN
  DELETE FROM unsettled WHERE state = 'open' AND stream_id = new.stream_id;
  INSERT OR IGNORE INTO unsettled SELECT 'unknown', new.stream_id WHERE new.type = 'tool.outcome_unknown';
END;

CREATE VIEW v_a2a_handoffs ( -- One row per task that was delegated and question that was asked in a form that programs read, with what came back.
  type, -- text: `task_delegation`, `question`
  subject, -- text: its taskId or questionId
  from_agent, -- text:
  to_agent, -- text:
  state, -- text: `open`; `answered`; `failed`: its exchange did; `replaced`: by another one about the same
  status, -- text: of a delegation: as last reported, or NULL
  payload, -- JSON: what was handed over; NULL once redacted
  answer, -- text: the payload that answered it, else the message; NULL: nothing has
  answered_by, -- text: type of the event that did, or NULL
  job_id, -- text: the flow
  run_id, -- text: its first run
  conversation_id, -- text: or NULL
  work_session_id, -- text: or NULL
  at, -- time:
  at_ms, -- time:
  answered_at, -- time:
  answered_ms, -- time:
  seq, -- integer: of its `a2a.send`
  answered_seq -- integer: of the event that answered it
) AS
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

CREATE VIEW v_a2a_jobs ( -- One row per flow between agents: a message to another agent with all that followed (`send`), or work for a sub-agent (`spawn`). Made of what
  -- our own agents did; imported events are not in it. What a redacted event said is NULL.
  job_id, -- text: also the id of its first run
  kind, -- text: `send`, `spawn`
  phase, -- text: what it waits for: `dispatching`, `waiting`, `turn`, `announcing`, `posting`; `over`. See [events](events.md#flows)
  outcome, -- text: once it is over: `ok`, `no_reply`, `blocked`, `failed`, `abandoned`, `cancelled`; of a spawn also `killed`, `timeout`. NULL: it
    -- is open
  reason, -- text: why it ended so, e.g. `timeout`, `queue_timeout`, `aborted`; of `ok` why it took fewer turns than it might have; or NULL
  from_agent, -- text: who asked
  to_agent, -- text: whom
  requester_session_key, -- text: the session that asked
  requester_run_id, -- text: the run in it; NULL: no run has
  target_session_key, -- text: where it is answered
  conversation_id, -- text: the exchange
  parent_conversation_id, -- text: the one that it is beside, or NULL
  work_session_id, -- text: where it belongs, or NULL
  task_id, -- text: the task that it is about, or NULL
  label, -- text: of a spawn, or NULL
  preview, -- text: how the message begins: one line, at most 200 characters, secrets masked
  message_intent, -- text: of a send
  payload_type, -- text: type of its structured handoff, or NULL
  payload_subject, -- text: taskId or questionId of its structured handoff, or NULL
  run_id, -- text: the run that it waits for, or waited for last; NULL while there is none
  speaker, -- text: the agent of that run; NULL while there is none
  attempt, -- integer: at the first answer, and at posting, from 1; else 0
  turn, -- integer: the turn under way, afterwards how many were taken
  effective_turns, -- integer: how many it may take
  ended_early, -- text: why it took fewer, or NULL
  answers, -- integer: given so far
  resumed, -- integer: restarts since it last came on
  due_at, -- time: when it is looked after again if nothing happens before; NULL: it is over
  due_ms, -- time: when it is looked after again if nothing happens before; NULL: it is over
  created_at, -- time: asked for
  created_ms, -- time: asked for
  changed_at, -- time: last came on, or was looked after
  changed_ms, -- time: last came on, or was looked after
  ended_at, -- time: over, or NULL
  ended_ms, -- time: over, or NULL
  seq, -- integer: of the event that asked for it
  sent_seq, -- integer: of its `a2a.send`; NULL: none yet
  over_seq -- integer: of the event that ended it; NULL: none yet
) AS
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

CREATE VIEW v_agent_tasks ( -- One row per task of an agent, open or finished: tasks of our own agents, and those in task files that another
  -- gateway keeps or kept. Imported logs change nothing here; their tasks are in files.
  task_id, -- text: the task
  agent, -- text: its owner
  status, -- text: `backlog`, `pending`, `pending_approval`, `in_progress`, `blocked`, `interrupted`; `completed`, `cancelled`, `abandoned`,
    -- `failed`. Only task files have `pending` and `abandoned`
  priority, -- text: `urgent`, `high`, `medium`, `low`
  description, -- text: what to do
  context, -- text: background information, or NULL
  source, -- text: `self`, `user`, `request:<agent>`, or NULL
  simple, -- flag: it needs no steps
  work_session_id, -- text: the work session, or NULL
  previous_work_session_id, -- text: the one it continues, or NULL
  session_key, -- text: the session that started or picked it, or NULL
  created_by, -- text: who added it to the backlog, or NULL
  created_at, -- time: when it was started, or added to the backlog
  created_ms, -- time: when it was started, or added to the backlog
  active_at, -- time: when it last changed
  active_ms, -- time: when it last changed
  ended_at, -- time: when it ended, or NULL
  ended_ms, -- time: when it ended, or NULL
  open, -- flag: it is not finished, nor known only from a file that no longer exists
  focus, -- flag: its agent works on it: of its tasks in progress, the one it turned to last
  steps, -- integer: number of steps. See [v_task_steps](#v_task_steps)
  steps_done, -- integer: number of steps done
  progress_count, -- integer: number of progress lines
  progress, -- text: the last progress line, or NULL
  blocked_reason, -- text: what it waits for; NULL if not blocked
  blocked_by, -- JSON: list of the agents that can help; NULL if not blocked
  blocked_action, -- text: what those agents should do; NULL if not blocked
  escalation, -- text: `none`, `requesting`, `escalated`, `failed`, or NULL
  requests, -- integer: how often those agents were asked for help
  assignee, -- text: the agent it was added for, or NULL
  depends_on, -- JSON: ids of the tasks it depends on, or NULL
  effort, -- text: as given, or NULL
  start_date, -- text: as given, or NULL
  due_date, -- text: as given, or NULL
  milestone_id, -- text: as given, or NULL
  milestone_item_id, -- text: as given, or NULL
  reassigned, -- integer: how often it returned to the backlog after inactivity
  outcome, -- text: `completed`, `cancelled`, `interrupted`, `error`; NULL until it ends
  outcome_text, -- text: the summary, reason or error; NULL until it ends
  outcome_by, -- text: who decided the outcome, if not the owner; else NULL
  history_month, -- text: month of the history file that lists it, e.g. `2026-02`, or NULL
  file_gone, -- flag: it was known from a file that no longer exists
  version, -- integer: of its stream after the last event that changed it, as `version` of the tools expects; 0: known only from a file
  seq, -- integer: of the first event about it
  last_seq -- integer: of the last event that changed it
) AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, t.status, t.priority, t.description,
       nullif(t.background, '') AS context, nullif(t.source, '') AS source, t.simple,
       nullif(t.work_session_id, '') AS work_session_id, nullif(t.previous_id, '') AS previous_work_session_id,
       nullif(t.session_key, '') AS session_key, nullif(t.created_by, '') AS created_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at, t.created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', w.active_at / 1000.0, 'unixepoch') AS active_at, w.active_at AS active_ms,
       CASE WHEN t.ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', t.ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(t.ended_at, 0) AS ended_ms,
       t.over = 0 AS open,
       t.over = 0 AND t.status = 'in_progress' AND t.id = (SELECT o.id FROM tasks o JOIN task_work ow ON ow.id = o.id
         WHERE o.over = 0 AND o.agent = t.agent AND o.status = 'in_progress'
         ORDER BY ow.focus DESC, o.rank, o.due_at, o.start_at, o.created_at, o.id LIMIT 1) AS focus,
       json_array_length(w.steps) AS steps,
       (SELECT count(*) FROM json_each(w.steps) j WHERE j.value ->> '$.status' = 'done') AS steps_done,
       w.progress_count, nullif(w.progress, '') AS progress,
       nullif(t.blocked_reason, '') AS blocked_reason, nullif(t.blocked_by, '[]') AS blocked_by, nullif(t.blocked_action, '') AS blocked_action,
       nullif(t.escalation, '') AS escalation, t.requests,
       nullif(t.assignee, '') AS assignee, nullif(t.depends_on, '[]') AS depends_on, nullif(t.effort, '') AS effort,
       nullif(t.start_date, '') AS start_date, nullif(t.due_date, '') AS due_date,
       nullif(t.milestone_id, '') AS milestone_id, nullif(t.milestone_item_id, '') AS milestone_item_id, t.reassigned,
       nullif(t.outcome, '') ->> '$.kind' AS outcome,
       coalesce(nullif(t.outcome, '') ->> '$.summary', nullif(t.outcome, '') ->> '$.reason', nullif(t.outcome, '') ->> '$.error') AS outcome_text,
       nullif(t.outcome, '') ->> '$.by' AS outcome_by,
       nullif(t.month, '') AS history_month, t.gone AS file_gone, w.version, t.id >> 24 AS seq, w.last_seq
  FROM tasks t
  JOIN task_work w ON w.id = t.id;

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

CREATE VIEW v_category_changes ( -- One row per change of a work session's category by an operator, through the API or the file of
  -- overrides. The session need not exist.
  work_session, -- text:
  category, -- text: the category that was set; NULL: the override was removed, and the vote of the events decides again
  updated_at, -- text: time of the change, as the API or the file states it
  updated_by, -- text: who changed it; NULL: no name given
  seq -- integer: of the event that records the change
) AS
SELECT c.name AS work_session, nullif(c.category, '') AS category, c.updated_at, nullif(c.updated_by, '') AS updated_by, c.seq
  FROM category_changes c;

CREATE VIEW v_collaboration_threads ( -- One row per thread opened for requests from one agent to another. The row is removed once Discord
  -- no longer knows the thread. A thread unused for `threadReuseTTL` is not reused.
  reuse_key, -- text: `<from>:<to>`, with the topic if there is one
  from_agent, -- text: who asks there; the other direction has threads of its own
  to_agent, -- text: who is asked
  thread_id, -- text: the thread
  thread_name, -- text: its name
  channel_id, -- text: its channel
  messages, -- integer: number of request messages in it
  created_at, -- time:
  created_ms, -- time:
  last_used_at, -- time:
  last_used_ms, -- time:
  seq -- integer: of the event that opened it
) AS
SELECT reuse_key, substr(direction, 1, instr(direction, ':') - 1) AS from_agent, substr(direction, instr(direction, ':') + 1) AS to_agent,
       thread_id, nullif(thread_name, '') AS thread_name, nullif(channel_id, '') AS channel_id, messages,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', last_used_at / 1000.0, 'unixepoch') AS last_used_at, last_used_at AS last_used_ms, seq
  FROM collaboration_threads;

CREATE VIEW v_collaborations ( -- One row per request from one agent to another in Discord, with its outcome.
  collab_id, -- text: the request
  from_agent, -- text: who asked, in lower case
  to_agent, -- text: who was asked, in lower case; NULL if redacted
  delivery, -- text: `accepted`: in progress; `sent`, `failed`, `delivery_unknown`
  code, -- text: why it was not delivered, as a code, or NULL
  error, -- text: why it was not delivered, as text, or NULL
  status, -- text: if it expects an answer: `pending`, `responded`, `escalated`, `responded_late`, `failed`; else NULL
  reason, -- text: why its thread no longer accepts posts, as a code, or NULL
  mode, -- text: how its thread was chosen: `named_thread`, `shared_thread`, `reuse_thread`, `new_thread`
  thread_id, -- text: the thread it is or will be posted in, or NULL
  thread_name, -- text: its name, or NULL
  channel_id, -- text: the channel of the thread, or NULL
  guild_id, -- text: the server, or NULL
  message, -- text: the request, without secrets, at most 500 characters
  message_ids, -- JSON: ids of its messages in Discord, in order; NULL until it is sent
  account_id, -- text: whose bot asked; NULL until it is sent
  session_key, -- text: the session that asked, or NULL
  run_id, -- text: the run that asked, or NULL
  work_session_id, -- text: the one it belongs to, or NULL
  task_id, -- text: the one it belongs to, or NULL
  hop, -- integer: how often its cause was passed on between agents, including this request, or NULL
  accepted_at, -- time: when it was accepted
  accepted_ms, -- time: when it was accepted
  sent_at, -- time: when it was posted in the thread, or NULL
  sent_ms, -- time: when it was posted in the thread, or NULL
  step, -- integer: the last step taken without an answer: 1 and 2 are reminders, the last one the escalation; 0: none
  last_attempt_at, -- time: of that step, or of the failure; or NULL
  last_attempt_ms, -- time: of that step, or of the failure; or NULL
  responded_at, -- time: when it was answered, or NULL
  responded_ms, -- time: when it was answered, or NULL
  answer_message_id, -- text: the message that answered it, `redacted` if that is redacted, or NULL
  response_ms, -- integer: time until the answer in ms, or NULL
  version, -- integer: of its stream
  seq, -- integer: of the first event about it
  last_seq -- integer: of the last event about it
) AS
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

CREATE VIEW v_continuation ( -- One row per agent that was prompted to continue, or had a run in its main session: its last prompt, or why
  -- it gets none now. `openclawd continuation explain AGENT` shows the next step.
  agent, -- text:
  failures, -- integer: failed prompts in a row
  cause, -- text: of the last failure: `rate_limit`, `timeout`, `unknown`, `context_overflow`, `billing`, `auth`; `context_reset` after its
    -- session was reset; or NULL
  backoff_until, -- time: prompts pause until then; may be in the past; or NULL
  backoff_until_ms, -- time: prompts pause until then; may be in the past; or NULL
  backoff_ms, -- integer: length of the pause, or NULL
  overflows, -- integer: failures in a row because the context was too long
  failed_task_id, -- text: of the last failure, or NULL
  failed_run_id, -- text: of the last failure, or NULL
  prompt_run_id, -- text: the run of the last prompt to the agent, or NULL
  prompt_task_id, -- text: the task of that prompt, or NULL
  prompt_reason, -- text: [why](events.md#what-keeps-agents-going) it was sent, or NULL
  prompt_at, -- time: when it was requested, or NULL
  prompt_ms, -- time: when it was requested, or NULL
  prompt_over, -- flag: its run has ended; NULL without a prompt
  ended_run_id, -- text: the last ended run of the main session, whatever requested it; or NULL
  ended_at, -- time: when that run ended, or NULL
  ended_ms, -- time: when that run ended, or NULL
  ended_ok, -- flag: it succeeded; NULL without such a run
  ended_by_restart, -- flag: a restart interrupted it; NULL without such a run
  summary_at, -- time: when the agent was last notified of a restart, or NULL
  summary_ms, -- time: when the agent was last notified of a restart, or NULL
  tasks, -- integer: number of tasks with continuation steps: see [v_continuation_tasks](#v_continuation_tasks)
  decided, -- integer: number of decisions about the agent
  seq -- integer: of the last event that changed this row
) AS
SELECT c.agent, c.failures, nullif(c.cause, '') AS cause,
       CASE WHEN c.backoff_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', c.backoff_until / 1000.0, 'unixepoch') END AS backoff_until,
       nullif(c.backoff_until, 0) AS backoff_until_ms, nullif(c.state ->> '$.backoffMs', 0) AS backoff_ms,
       coalesce(c.state ->> '$.overflows', 0) AS overflows, c.state ->> '$.failedTask' AS failed_task_id, c.state ->> '$.failedRun' AS failed_run_id,
       c.state ->> '$.prompt.runId' AS prompt_run_id, c.state ->> '$.prompt.taskId' AS prompt_task_id, c.state ->> '$.prompt.reason' AS prompt_reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.prompt.at') / 1000.0, 'unixepoch') AS prompt_at, c.state ->> '$.prompt.at' AS prompt_ms,
       CASE WHEN c.state -> '$.prompt' IS NOT NULL THEN coalesce(c.state ->> '$.prompt.over', 0) END AS prompt_over,
       c.state ->> '$.ended.runId' AS ended_run_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.ended.at') / 1000.0, 'unixepoch') AS ended_at, c.state ->> '$.ended.at' AS ended_ms,
       CASE WHEN c.state -> '$.ended' IS NOT NULL THEN coalesce(c.state ->> '$.ended.ok', 0) END AS ended_ok,
       CASE WHEN c.state -> '$.ended' IS NOT NULL THEN coalesce(c.state ->> '$.ended.brokenOff', 0) END AS ended_by_restart,
       strftime('%Y-%m-%dT%H:%M:%fZ', (c.state ->> '$.summaryAt') / 1000.0, 'unixepoch') AS summary_at, c.state ->> '$.summaryAt' AS summary_ms,
       (SELECT count(*) FROM json_each(c.state, '$.tasks')) AS tasks, coalesce(c.state ->> '$.decided', 0) AS decided, c.last_seq AS seq
  FROM continuation c;

CREATE VIEW v_continuation_tasks ( -- One row per task with continuation steps since it was last started, blocked or resumed. A finished
  -- task has none.
  agent, -- text:
  task_id, -- text:
  prompts, -- integer: prompts to continue it since its last progress
  same, -- integer: prompts in a row at the same step
  step, -- text: its step when the last prompt was sent, or NULL
  measured, -- integer: progress at that time: steps done or skipped, or lines of progress if it has no steps
  defines, -- integer: prompts to define steps
  prompt_at, -- time: of the last prompt, or NULL
  prompt_ms, -- time: of the last prompt, or NULL
  escalated, -- integer: number of the prompt that asked what blocks it; 0: none
  reminders, -- integer: how often the agent was asked whether it is still blocked, since the last request for help
  reminded_at, -- time: when it was last asked, or NULL
  reminded_ms, -- time: when it was last asked, or NULL
  asked_job_id, -- text: the flow of the last request for help, unless its delivery failed; or NULL
  ask_failed_at, -- time: when the delivery of a request failed, or NULL
  ask_failed_ms, -- time: when the delivery of a request failed, or NULL
  told, -- flag: no more agents are asked; the lead or people were notified
  seq -- integer: as in [v_continuation](#v_continuation)
) AS
SELECT c.agent, j.key AS task_id, coalesce(j.value ->> '$.prompts', 0) AS prompts, coalesce(j.value ->> '$.same', 0) AS same,
       j.value ->> '$.stepId' AS step, coalesce(j.value ->> '$.measured', 0) AS measured, coalesce(j.value ->> '$.defines', 0) AS defines,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.at') / 1000.0, 'unixepoch') AS prompt_at, j.value ->> '$.at' AS prompt_ms,
       coalesce(j.value ->> '$.escalated', 0) AS escalated, coalesce(j.value ->> '$.reminders', 0) AS reminders,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.remindedAt') / 1000.0, 'unixepoch') AS reminded_at, j.value ->> '$.remindedAt' AS reminded_ms,
       j.value ->> '$.asked' AS asked_job_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', (j.value ->> '$.askFailedAt') / 1000.0, 'unixepoch') AS ask_failed_at, j.value ->> '$.askFailedAt' AS ask_failed_ms,
       coalesce(j.value ->> '$.told', 0) AS told, c.last_seq AS seq
  FROM continuation c
  JOIN json_each(c.state, '$.tasks') j;

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

CREATE VIEW v_cron_jobs ( -- Scheduled jobs and heartbeats that are kept.
  job_id, -- text: the job's id
  name, -- text: what people call it
  agent, -- text: the agent that runs, or NULL for the default agent
  kind, -- text: at, every, cron
  enabled, -- integer: 1: it becomes due
  next_at, -- text: next due time, or NULL
  next_ms, -- integer: the same, ms since 1970
  run_id, -- text: the run in progress, or NULL
  last_status, -- text: of the last run: ok, error, skipped; NULL without one
  errors, -- integer: consecutive ones, or NULL
  runs, -- integer: of due times, or NULL
  missed, -- integer: due times without a run, or NULL
  seq -- integer: of the last event about it
) AS
SELECT job_id, label, nullif(agent, ''), kind, enabled,
       CASE WHEN next_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', next_at / 1000.0, 'unixepoch') END, nullif(next_at, 0),
       nullif(run_id, ''), nullif(last_status, ''), json_extract(state, '$.errors'), json_extract(state, '$.runs'), json_extract(state, '$.missed'), last_seq
  FROM cron_jobs;

CREATE VIEW v_cron_runs ( -- Runs of scheduled jobs, also of removed ones: one per due time, and those on request.
  run_id, -- text: the run's id; that of the agent's run, if there is one
  job_id, -- text: the job's id
  due_at, -- text: due time
  due_ms, -- integer: the same, ms since 1970
  started_at, -- text: when it started
  started_ms, -- integer: the same, ms since 1970
  ended_at, -- text: when it ended, or NULL
  ended_ms, -- integer: the same, ms since 1970
  manual, -- integer: 1: on request
  status, -- text: ok, error, skipped; NULL while it is not over
  delivery, -- text: of the answer: not-requested, delivered, not-delivered, unknown; NULL while it is not over
  total_tokens, -- integer: of all model calls
  seq -- integer: of the event that started it
) AS
SELECT r.run_id, coalesce(j.job_id, r.job), strftime('%Y-%m-%dT%H:%M:%fZ', r.due_at / 1000.0, 'unixepoch'), r.due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1000.0, 'unixepoch'), r.at,
       CASE WHEN r.ended_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', r.ended_at / 1000.0, 'unixepoch') END, nullif(r.ended_at, 0),
       r.manual, nullif(r.status, ''), nullif(r.delivery, ''), r.total_tokens, r.seq
  FROM cron_runs r LEFT JOIN cron_jobs j ON j.name = r.job;

CREATE VIEW v_delegations ( -- One row per sub-agent: the flows of kind `spawn`, seen from the parent.
  job_id, -- text: as in `v_a2a_jobs`; the child's session has it in its key
  parent_agent, -- text:
  child_agent, -- text:
  parent_session_key, -- text: the session that has started it
  parent_run_id, -- text: the run that has
  child_session_key, -- text:
  child_run_id, -- text:
  label, -- text: its name, or NULL
  task, -- text: how its task begins
  state, -- text: `running`, `ok`, `failed`, `timeout`, `killed`, `blocked`, `abandoned`
  reason, -- text: or NULL
  conversation_id, -- text:
  work_session_id, -- text:
  task_id, -- text:
  created_at, -- time:
  created_ms, -- time:
  ended_at, -- time: NULL: it is not over
  ended_ms, -- time: NULL: it is not over
  duration_ms, -- number: likewise
  seq, -- integer: of the event that asked for it
  over_seq -- integer: of the event that ended it, or NULL
) AS
SELECT job_id, from_agent AS parent_agent, to_agent AS child_agent, requester_session_key AS parent_session_key, requester_run_id AS parent_run_id,
       target_session_key AS child_session_key, run_id AS child_run_id, label, preview AS task, coalesce(outcome, 'running') AS state, reason,
       conversation_id, work_session_id, task_id, created_at, created_ms, ended_at, ended_ms, ended_ms - created_ms AS duration_ms, seq, over_seq
  FROM v_a2a_jobs WHERE kind = 'spawn';

CREATE VIEW v_discord_messages ( -- One row per message in Discord that was decided about: once, for all bots that saw it. The tables about Discord are made of what this system
  -- did; imported events are not in them. Bound `message_id` or `seq` on a big log: texts are read from the events.
  message_id, -- text:
  channel_id, -- text: where it stands; of a thread the channel that it hangs below
  thread_id, -- text: NULL: outside of threads; once redacted
  guild_id, -- text: NULL: a direct message, or redacted
  author_id, -- text: the user in Discord, or NULL
  author_name, -- text: how the user is called, or NULL
  author_agent, -- text: the agent that has written it, or NULL
  text, -- text: what was said, where an agent handled it; else at most 50 characters of it. NULL: dropped, or redacted
  mentioned, -- JSON: the agents that it mentions, in the order of the text, or NULL
  system, -- flag: openclawd has posted it by itself, in an agent's name: a reminder, an escalation
  handlers, -- integer: how many agents handled it
  observers, -- integer: how many observed it
  dropped, -- integer: for how many it was dropped
  sent_at, -- time: when it was sent
  sent_ms, -- time: when it was sent
  seq -- integer: of the first event about it
) AS
SELECT m.message_id, nullif(m.channel_id, '') AS channel_id,
       nullif(m.thread_id, '') AS thread_id, nullif(m.guild_id, '') AS guild_id, nullif(m.author_id, '') AS author_id,
       nullif(m.author_name, '') AS author_name, nullif(m.author_agent, '') AS author_agent,
       coalesce(e.data ->> '$.text', e.data ->> '$.summary') AS text, nullif(m.mentioned, '[]') AS mentioned, m.system,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'handler') AS handlers,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'observer') AS observers,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'dropped') AS dropped,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at, m.at AS sent_ms, m.id AS seq
  FROM discord_messages m LEFT JOIN events e ON e.seq = m.id;

CREATE VIEW v_discord_observed ( -- One row per agent and message that it has observed: at most 50 of each place. How many of these its runs there are told of, and how old they may
  -- be, is configured. Bound `place_id` or `agent` on a big log.
  agent, -- text:
  place_id, -- text: the thread or channel
  message_id, -- text:
  sender, -- text:
  summary, -- text: at most 50 characters of the message. NULL once redacted, like all that was said
  mentioned, -- JSON: agents, or NULL
  mentioned_users, -- JSON: ids of users, or NULL
  urls, -- JSON: what stands out in the message, or NULL
  pr_numbers, -- JSON: what stands out in the message, or NULL
  code_refs, -- JSON: what stands out in the message, or NULL
  sent_at, -- time: when the message was sent
  sent_ms, -- time: when the message was sent
  seq -- integer: of the event that has it
) AS
SELECT o.agent, o.place_id, o.message_id, coalesce(e.data ->> '$.authorName', e.data ->> '$.authorId') AS sender, e.data ->> '$.summary' AS summary,
       e.data ->> '$.mentionedAgents' AS mentioned, e.data ->> '$.mentions' AS mentioned_users, e.data ->> '$.urls' AS urls,
       e.data ->> '$.prNumbers' AS pr_numbers, e.data ->> '$.codeRefs' AS code_refs,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.at / 1000.0, 'unixepoch') AS sent_at, o.at AS sent_ms, o.seq
  FROM discord_observed o LEFT JOIN events e ON e.seq = o.seq;

CREATE VIEW v_discord_participants ( -- One row per thread and agent that takes part in it, or did.
  thread_id, -- text:
  agent, -- text:
  bot_user_id, -- text: its Discord user, or NULL
  reason, -- text: `collaborate`, `mentioned`, `posted`; NULL once redacted
  since, -- time:
  since_ms, -- time:
  left_at, -- time: when it left according to the log, or NULL
  left_ms, -- time: when it left according to the log, or NULL
  last_at, -- time: last message in the thread
  last_ms, -- time: last message in the thread
  seq -- integer: of the event that registered it
) AS
SELECT a.thread_id, a.agent, nullif(a.bot_user_id, '') AS bot_user_id, nullif(a.reason, '') AS reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.since / 1000.0, 'unixepoch') AS since, a.since AS since_ms,
       CASE WHEN a.left_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', a.left_at / 1000.0, 'unixepoch') END AS left_at, nullif(a.left_at, 0) AS left_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(p.last_at, 0) / 1000.0, 'unixepoch') AS last_at, nullif(p.last_at, 0) AS last_ms, a.seq
  FROM discord_participants a LEFT JOIN discord_places p ON p.place_id = a.thread_id;

CREATE VIEW v_discord_posts ( -- One row per message that openclawd has posted.
  message_id, -- text:
  place_id, -- text: the thread, else the channel
  thread_id, -- text: NULL outside of threads
  agent, -- text: in whose name, or NULL
  account_id, -- text: whose bot
  purpose, -- text: `reply`, `announce`, `request`, `reminder`, `escalate`, `report`, `approval`, `notice`, `send`
  effect_id, -- text: the [work](#v_work) that it was
  run_id, -- text: the [run](#v_runs) that has said it, or NULL
  collab_id, -- text: the request between agents that it belongs to, or NULL
  system, -- flag: openclawd says it by itself
  posted_at, -- time:
  posted_ms, -- time:
  seq -- integer: of the event that tells of it
) AS
SELECT message_id, place_id, nullif(thread_id, '') AS thread_id, nullif(agent, '') AS agent, nullif(account_id, '') AS account_id,
       nullif(purpose, '') AS purpose, effect_id, nullif(run_id, '') AS run_id, nullif(collab_id, '') AS collab_id, system,
       strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS posted_at, at AS posted_ms, id AS seq
  FROM discord_posts;

CREATE VIEW v_discord_threads ( -- One row per thread with events in the log.
  thread_id, -- text: the thread, or the channel
  channel_id, -- text: its parent channel; NULL if unknown
  guild_id, -- text: the server; NULL if unknown
  name, -- text: of a thread opened by this system, else NULL
  kind, -- text: of a thread opened by this system: `collab`, `report`; else NULL
  report_of, -- text: of a report thread: the conversation between agents it reports on; NULL: none, or no longer
  participants, -- integer: agents that have not left according to the log, including those no longer active after a long silence
  last_message_id, -- text: the newest message with a decision, or NULL
  last_at, -- time: last message there, or registration
  last_ms, -- time: last message there, or registration
  suspended_until, -- time: bots are suspended there until then, or NULL
  suspended_until_ms, -- time: bots are suspended there until then, or NULL
  suspended_for, -- text: `bot_rate`, `bot_turns`, or NULL
  seq -- integer: of the first event about it
) AS
SELECT p.place_id AS thread_id, nullif(p.channel_id, '') AS channel_id, nullif(p.guild_id, '') AS guild_id, nullif(p.name, '') AS name,
       nullif(p.kind, '') AS kind, nullif(p.report_of, '') AS report_of,
       (SELECT count(*) FROM discord_participants a WHERE a.thread_id = p.place_id AND a.left_at = 0) AS participants,
       nullif(p.last_id, '') AS last_message_id,
       CASE WHEN p.last_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.last_at / 1000.0, 'unixepoch') END AS last_at, nullif(p.last_at, 0) AS last_ms,
       CASE WHEN p.suspended_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.suspended_until / 1000.0, 'unixepoch') END AS suspended_until,
       nullif(p.suspended_until, 0) AS suspended_until_ms, nullif(p.suspended_for, '') AS suspended_for, p.seq
  FROM discord_places p
 WHERE p.thread = 1;

CREATE VIEW v_discord_verdicts ( -- One row per message and agent: what the message was to the agent, and why. `openclawd why MESSAGE_ID` says the same in words.
  message_id, -- text:
  agent, -- text: empty where no agent was concerned, or it is redacted which
  mode, -- text: `handler`, `observer`, `dropped`
  reason, -- text: a code, see [events](events.md); NULL once redacted
  part, -- text: `primary`, `secondary` among several that were mentioned, or NULL
  account_id, -- text: of a handler: the bot that answers
  run_id, -- text: of a handler: the [run](#v_runs) that was asked for; NULL: none was, it was refused
  channel_id, -- text: where the message stands
  thread_id, -- text: likewise; NULL outside of threads
  sent_at, -- time: when the message was sent
  sent_ms, -- time: when the message was sent
  seq -- integer: of the event that says so
) AS
SELECT m.message_id, v.agent, v.mode, nullif(v.reason, '') AS reason,
       nullif(v.ord, '') AS part, nullif(v.account_id, '') AS account_id, nullif(v.run_id, '') AS run_id,
       nullif(m.channel_id, '') AS channel_id, nullif(m.thread_id, '') AS thread_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at, m.at AS sent_ms, v.seq
  FROM discord_verdicts v JOIN discord_messages m ON m.id = v.message;

CREATE VIEW v_event_counts ( -- Events by the hour. Counting here costs nothing on a log of any size.
  hour, -- text: `2026-02-20T12:00Z`: the hour in which they happened
  role, -- text:
  type, -- text:
  category, -- text:
  internal, -- flag: our own book-keeping
  events -- integer:
) AS
SELECT strftime('%Y-%m-%dT%H:00Z', h.hour * 3600, 'unixepoch') AS hour, f.role, f.type, f.category, f.internal, h.n AS events
  FROM facet_hours h JOIN facets f ON f.id = h.facet_id;

CREATE VIEW v_events ( -- One row per event of the log, with what the classifier says of it.
  seq, -- integer: position in the log
  id, -- text: UUID
  stream, -- text: history that it continues
  version, -- integer: its position there
  type, -- text:
  ver, -- integer: version of the shape of `data`
  agent_id, -- text: empty where the line names none
  happened_at, -- time: when it happened
  time_ms, -- time: when it happened
  time_source, -- text: `event`; `recorded` where the event has no usable time (under v2; under v1 such an event is of 1970)
  recorded_at, -- time: when it was stored
  correlation_id, -- text: see [events](events.md#the-envelope)
  causation_id, -- text: see [events](events.md#the-envelope)
  actor, -- text: see [events](events.md#the-envelope)
  role, -- text:
  role_guessed, -- flag: the event did not say its role
  from_type, -- text: `main`, `subagent`, `unknown`
  to_type, -- text: `main`, `subagent`, `unknown`
  category, -- text:
  secondary, -- JSON: lists of texts
  sub_tags, -- JSON: lists of texts
  confidence, -- number: of the category, 0 to 1
  category_source, -- text: `manual`, `rule`, `heuristic`, `fallback`
  category_version, -- text: rules that the category comes from
  internal, -- flag: our own book-keeping
  work_session, -- text: from `data`; NULL where missing
  conversation, -- text: from `data`; NULL where missing
  task, -- text: from `data`; NULL where missing
  message, -- text: from `data`; NULL where missing
  data, -- JSON: NULL once redacted or archived
  original, -- JSON: of an imported line that the columns cannot reproduce; usually NULL
  redacted -- flag:
) AS
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

CREATE VIEW v_participants ( -- One row per agent of a work session, at most 64 of each.
  work_session, -- text:
  agent, -- text:
  name, -- text: display name as the configuration gave it then, or NULL
  session_type, -- text: `main`, `subagent`, `unknown`
  last_at -- time: of the work session
) AS
SELECT w.name AS work_session, j.value ->> '$.agent' AS agent, j.value ->> '$.name' AS name, j.value ->> '$.type' AS session_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', w.last_time / 1000.0, 'unixepoch') AS last_at
  FROM work_sessions w JOIN session_profiles p ON p.id = w.id, json_each(p.participants) j;

CREATE VIEW v_plans ( -- One row per plan that an agent has submitted for a task of it. Plans in files of another gateway are not there.
  plan_id, -- text: the plan
  agent, -- text: whose it is
  status, -- text: `pending`, `approved`, `rejected`
  task_id, -- text: the task that it is for, or NULL
  work_session_id, -- text: the work session in which that went on when it was decided, or submitted; or NULL
  session_key, -- text: the session that has submitted it, or NULL
  title, -- text: what it is to achieve; NULL where that is redacted
  steps, -- JSON: what is to be done, as a list of texts, or NULL
  steps_count, -- integer: how many they are
  tools_requested, -- JSON: names of the tools that its approval opens, or NULL
  submitted_at, -- time:
  submitted_ms, -- time:
  decided_at, -- time: NULL while it is pending
  decided_ms, -- time: NULL while it is pending
  decided_by, -- text: the agent, or the person; `openclawd` where its task has ended; or NULL
  reason, -- text: why it was rejected, or NULL
  version, -- integer: of its stream with the event that changed it last
  seq, -- integer: of the event that submitted it
  last_seq -- integer: of the one that changed it last
) AS
SELECT CASE plan_id WHEN '' THEN name ELSE plan_id END AS plan_id, agent, status, nullif(task_id, '') AS task_id,
       nullif(work_session_id, '') AS work_session_id, nullif(session_key, '') AS session_key, nullif(title, '') AS title,
       nullif(steps, '[]') AS steps, steps_count, nullif(tools, '[]') AS tools_requested,
       strftime('%Y-%m-%dT%H:%M:%fZ', submitted_at / 1000.0, 'unixepoch') AS submitted_at, submitted_at AS submitted_ms,
       CASE WHEN decided_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', decided_at / 1000.0, 'unixepoch') END AS decided_at,
       nullif(decided_at, 0) AS decided_ms, nullif(decided_by, '') AS decided_by, nullif(reason, '') AS reason, version, id AS seq, last_seq
  FROM plans;

CREATE VIEW v_projections ( -- State of the tables. See [operations](operations/troubleshoot.md#projections).
  name, -- text: `index`, `conversation`, `route`, `session`, `run`, `work`, `a2a`, `task`, `continuation`, `plan`, `routing`, `response`
  kind, -- text: `read-model`, `decision`
  version, -- text: of the fold and its rules, e.g. `2/v2`
  state, -- text: `live`, `parked`, `rebuilding`
  seq, -- integer: the tables contain the log up to this event
  behind, -- integer: events behind the head
  parked_seq, -- integer: the event that could not be applied; NULL unless parked
  parked_error -- text: why it could not be applied; NULL unless parked
) AS
SELECT name, kind, version, state, seq, (SELECT coalesce(max(seq), 0) FROM events) - seq AS behind, parked_seq, parked_error
  FROM projections;

CREATE VIEW v_rejected_lines ( -- One row per line of an imported log that was no event.
  seq, -- integer: of the `import.rejected` event
  file, -- text: name without directory
  line, -- integer: from 1
  reason, -- text: see [events](events.md#importrejected)
  bytes, -- integer: length of the line
  text, -- text: how it begins, at most 4 KiB, secrets masked
  recorded_at -- time:
) AS
SELECT e.seq, e.data ->> '$.file' AS file, e.data ->> '$.line' AS line, e.data ->> '$.reason' AS reason, e.data ->> '$.bytes' AS bytes,
       e.data ->> '$.text' AS text, strftime('%Y-%m-%dT%H:%M:%fZ', e.recorded_at / 1000.0, 'unixepoch') AS recorded_at
  FROM events e WHERE e.type = 'import.rejected';

CREATE VIEW v_routes ( -- One row per pair of agents that talk as main agents within a work session: the conversation that they are having.
  route_key, -- text: `<workSessionId>::<agent>|<agent>`, agents in lower case, sorted
  conversation, -- text: conversationId of the newest send, response or completion
  last_event_type, -- text: of that event
  run, -- text: the newest runId; empty where none was named
  last_at, -- time: of that event
  last_ms, -- time: of that event
  seq -- integer: of that event
) AS
SELECT route_key, conversation_id AS conversation, last_event_type, run_id AS run,
       strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch') AS last_at, time AS last_ms, seq
  FROM routes;

CREATE VIEW v_runs ( -- One row per run of an agent: a message and its outcome. The tables of runs and work contain what this system did,
  -- not imported events.
  run_id, -- text: the idempotency key of the request. If the key cannot be part of a stream name, the stream has its hash instead
  session_key, -- text: the session, or NULL
  session_id, -- text: its transcript, or the one it was meant for, or NULL
  agent, -- text: or NULL
  lane, -- text: `main`, `nested`, `subagent`
  cause, -- text: who requested it: `agent`, `chat`, `http`, `a2a`, `spawn`, `subagent`, ...
  state, -- text: `queued`, `running`, `ok`, `error`, `aborted`, `timed_out`
  retry_of, -- text: the first run, if this one repeats it; else NULL
  queued_at, -- time:
  queued_ms, -- time:
  started_at, -- time: NULL: not yet, or never
  started_ms, -- time: NULL: not yet, or never
  ended_at, -- time: NULL: not yet, or never
  ended_ms, -- time: NULL: not yet, or never
  provider, -- text: of the last answer, or NULL
  model, -- text: of the last answer, or NULL
  stop_reason, -- text: if `ok`: `stop`, `length`, `filtered`
  reason, -- text: if `aborted`: `rpc`, `stop`, `reset`, `delete`, `restart`, `shutdown`
  error_class, -- text: if `error`: see [operations](operations/agents.md#when-a-model-fails)
  input_tokens, -- integer: of all its model calls; 0 if not counted
  output_tokens, -- integer: of all its model calls; 0 if not counted
  total_tokens, -- integer: of all its model calls; 0 if not counted
  model_calls, -- integer:
  tool_calls, -- integer:
  seq, -- integer: of the event that queued it. `v_events` has the message and the answer
  over_seq, -- integer: of the event that ended it, or NULL
  job, -- text: the [flow](#v_a2a_jobs) that waits for it, or NULL
  work_session, -- text: the one it belongs to, or NULL
  conversation, -- text: the one it belongs to, or NULL
  parent_run -- text: the run that requested it, by a message or by starting it, or NULL
) AS
SELECT CASE run_id WHEN '' THEN name ELSE run_id END AS run_id, nullif(session_key, '') AS session_key, nullif(session_id, '') AS session_id,
       nullif(agent, '') AS agent, lane, cause, state, nullif(retry_of, '') AS retry_of,
       strftime('%Y-%m-%dT%H:%M:%fZ', queued_at / 1000.0, 'unixepoch') AS queued_at, queued_at AS queued_ms,
       CASE WHEN started_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') END AS started_at,
       nullif(started_at, 0) AS started_ms,
       CASE WHEN ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(ended_at, 0) AS ended_ms,
       nullif(provider, '') AS provider, nullif(model, '') AS model, nullif(stop_reason, '') AS stop_reason, nullif(reason, '') AS reason,
       nullif(error_class, '') AS error_class, input_tokens, output_tokens, total_tokens, model_calls, tool_calls,
       id AS seq, nullif(over_seq, 0) AS over_seq,
       nullif(job, '') AS job, nullif(work_session, '') AS work_session, nullif(conversation, '') AS conversation,
       nullif(parent_run, '') AS parent_run
  FROM runs;

CREATE VIEW v_session_messages ( -- One row per message of these transcripts. Bound `key`, `session_id` or `seq` on a big log: texts are read from the events.
  key, -- text: the session
  session_id, -- text: the transcript
  author, -- text: `user`, `assistant`, `tool`, `system`; NULL once redacted
  text, -- text: NULL once redacted
  at, -- time:
  at_ms, -- time:
  seq -- integer: of the event that is the message; `v_events` has the rest
) AS
SELECT k.name AS key, t.session_id, e.data ->> '$.author' AS author, e.data ->> '$.text' AS text,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.ts / 1000.0, 'unixepoch') AS at, e.ts AS at_ms, m.seq
  FROM session_messages m JOIN session_transcripts t ON t.id = m.transcript_id JOIN session_keys k ON k.id = t.key_id
  JOIN events e ON e.seq = m.seq
 WHERE t.id > k.hidden;

CREATE VIEW v_session_transcripts ( -- One row per transcript: what was said in a session between two resets. Those that were deleted with their session are not here.
  key, -- text: the session
  session_id, -- text: the transcript's own name
  present, -- flag: it is the session's present one
  messages, -- integer:
  closed, -- text: why it ended: `new`, `reset`, `deleted`; NULL while it is the present one
  opened_at, -- time:
  opened_ms, -- time:
  closed_at, -- time: NULL while it is the present one
  closed_ms, -- time: NULL while it is the present one
  seq -- integer: of the event that began it
) AS
SELECT k.name AS key, t.session_id, t.closed = '' AS present, coalesce(s.messages, t.messages) AS messages, nullif(t.closed, '') AS closed,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.opened_at / 1000.0, 'unixepoch') AS opened_at, t.opened_at AS opened_ms,
       CASE WHEN t.closed <> '' THEN strftime('%Y-%m-%dT%H:%M:%fZ', t.closed_at / 1000.0, 'unixepoch') END AS closed_at,
       CASE WHEN t.closed <> '' THEN t.closed_at END AS closed_ms, t.id AS seq
  FROM session_transcripts t JOIN session_keys k ON k.id = t.key_id LEFT JOIN sessions s ON s.id = t.key_id AND s.transcript_id = t.id
 WHERE t.id > k.hidden;

CREATE VIEW v_sessions ( -- One row per existing session of the gateway. Work sessions are something else: see
  -- [v_work_sessions](#v_work_sessions).
  key, -- text: e.g. `agent:eden:main`
  agent, -- text: empty for keys without an agent, such as `global`
  kind, -- text: `main`, `subagent`, `a2a`, `direct`, `group`, `channel`, `cron`, `acp`, `other`, `alias`
  session_id, -- text: of its current transcript
  label, -- text: unique among sessions, or NULL
  title, -- text: from the first message of a user in the transcript; empty until there is one
  spawned_by, -- text: key of the session that spawned it, or NULL
  settings, -- JSON: its own settings, by name
  messages, -- integer: in its current transcript
  last_role, -- text: author of the newest message
  last_text, -- text: beginning of the newest message: one line, at most 200 characters, secrets masked
  provider, -- text: of the newest answer, or NULL
  model, -- text: of the newest answer, or NULL
  input_tokens, -- integer: of the newest answer that reported token counts
  output_tokens, -- integer: of the newest answer that reported token counts
  total_tokens, -- integer: of the newest answer that reported token counts
  tokens_fresh, -- flag: the token counts belong to the current transcript
  last_channel, -- text: where the session was last addressed, or NULL
  last_to, -- text: where the session was last addressed, or NULL
  last_account, -- text: where the session was last addressed, or NULL
  last_thread, -- text: where the session was last addressed, or NULL
  aborted_last_run, -- flag: the newest answer was aborted
  created_at, -- time: of the event that created it
  created_ms, -- time: of the event that created it
  updated_at, -- time: of its newest change or message
  updated_ms, -- time: of its newest change or message
  seq -- integer: of the last event that changed it
) AS
SELECT key, agent, kind, session_id, nullif(label, '') AS label, title, nullif(spawner, '') AS spawned_by,
       CASE settings WHEN '' THEN '{}' ELSE settings END AS settings, messages, last_role, last_text, nullif(provider, '') AS provider,
       nullif(model, '') AS model, input_tokens, output_tokens, total_tokens, tokens_fresh, nullif(last_channel, '') AS last_channel,
       nullif(last_to, '') AS last_to, nullif(last_account, '') AS last_account, nullif(last_thread, '') AS last_thread,
       aborted AS aborted_last_run,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, created_at AS created_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / 1000.0, 'unixepoch') AS updated_at, updated_at AS updated_ms, seq
  FROM sessions;

CREATE VIEW v_task_delegations ( -- One row per thing that a sub-agent does, or did, for a task of an agent, whatever the number of attempts. Attempts are the flows of
  -- [v_delegations](#v_delegations), which has sub-agents without a task, too.
  delegation_id, -- text: the job of its first attempt
  task_id, -- text:
  from_agent, -- text: who has delegated it
  to_agent, -- text: who does it
  status, -- text: `spawned`, `running`, `completed`, `failed`, `verified`, `rejected`, `retrying`, `abandoned`
  retries, -- integer: how often it was tried again
  max_retries, -- integer: how often it may be
  label, -- text: its name, or NULL
  task, -- text: what is to be done, its first 4,000 characters, or NULL
  job_id, -- text: of the attempt under way, or of the last
  run_id, -- text: of the attempt under way, or of the last
  child_session_key, -- text: of the attempt under way, or of the last
  result, -- text: what came of that attempt, or NULL
  error, -- text: what came of that attempt, or NULL
  note, -- text: of who has accepted, rejected or given it up, or NULL
  decided_by, -- text: who has accepted, rejected or given it up, or NULL
  created_at, -- time:
  created_ms, -- time:
  ended_at, -- time: NULL: an attempt is under way
  ended_ms, -- time: NULL: an attempt is under way
  seq, -- integer: of the event that made it
  last_seq -- integer: of the one that changed it last
) AS
SELECT d.name AS delegation_id, CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, d.from_agent, d.agent AS to_agent, d.status,
       d.retries, d.most AS max_retries, nullif(d.label, '') AS label, nullif(d.work, '') AS task,
       nullif(d.job_id, '') AS job_id, nullif(d.run_id, '') AS run_id, nullif(d.child_key, '') AS child_session_key,
       nullif(d.snapshot, '') AS result, nullif(d.error, '') AS error, nullif(d.note, '') AS note, nullif(d.decided_by, '') AS decided_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.created_at / 1000.0, 'unixepoch') AS created_at, d.created_at AS created_ms,
       CASE WHEN d.ended_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.ended_at / 1000.0, 'unixepoch') END AS ended_at,
       nullif(d.ended_at, 0) AS ended_ms, d.id AS seq, d.last_seq
  FROM task_delegations d
  JOIN tasks t ON t.id = d.task;

CREATE VIEW v_task_files ( -- One row per file of tasks that the log knows: `tasks/<id>.md`, `CURRENT_TASK.md`, `task-history/<month>.md`.
  path, -- text: `workspace-<agent>/` and the name in the agent's workspace, wherever that lies
  sha256, -- text: what it has, or is about to have; NULL: it is removed
  previous_sha256, -- text: what it had before it was written, or NULL
  through_seq, -- integer: of a month: the end of the last task in it; else NULL
  ours, -- flag: we have written it; 0: it was seen
  seq -- integer: of the last event about it
) AS
SELECT path, nullif(sha256, '') AS sha256, nullif(previous, '') AS previous_sha256, nullif(through, 0) AS through_seq, ours, seq
  FROM task_files;

CREATE VIEW v_task_progress ( -- One row per line of progress. Bound `task_id` or `seq` on a big log.
  task_id, -- text:
  agent, -- text:
  n, -- integer: which line of its task, from 1
  text, -- text:
  at, -- time: when it was written; of one that was read in a file, of the event that told what the file says
  at_ms, -- time: when it was written; of one that was read in a file, of the event that told what the file says
  seq -- integer: of that event
) AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, p.n, p.text,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.at / 1000.0, 'unixepoch') AS at, p.at AS at_ms, p.id >> 24 AS seq
  FROM task_progress p
  JOIN tasks t ON t.id = p.task
  JOIN task_work w ON w.id = t.id
 WHERE p.id >= w.first_line AND w.first_line > 0;

CREATE VIEW v_task_steps ( -- One row per step of a task.
  task_id, -- text:
  agent, -- text:
  step, -- text: `s1`, `s2`, ...; no step gets the id that another one had
  content, -- text: what is done in it
  status, -- text: `pending`, `in_progress`, `done`, `skipped`
  position -- integer: from 1
) AS
SELECT CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END AS task_id, t.agent, j.value ->> '$.id' AS step, j.value ->> '$.content' AS content,
       j.value ->> '$.status' AS status, j.key + 1 AS position
  FROM tasks t
  JOIN task_work w ON w.id = t.id
  JOIN json_each(w.steps) j;

CREATE VIEW v_tasks ( -- One row per task and work session that its events name, those of imported logs included: what work sessions go by. How a task stands, with
  -- all that it is made of, is in [v_agent_tasks](#v_agent_tasks). A task that moved to another work session has two rows; the one with the
  -- later `since_ms` is newer.
  task, -- text:
  work_session, -- text:
  state, -- text: `pending`, `pending_approval`, `in_progress`, `blocked`, `backlog`, `completed`, `cancelled`, `abandoned`, `interrupted`,
    -- `failed`
  reason, -- text: why it is blocked; else empty
  since_at, -- time: of the event that set the state
  since_ms -- time: of the event that set the state
) AS
SELECT t.task_id AS task, w.name AS work_session, t.state, t.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.time / 1000.0, 'unixepoch') AS since_at, t.time AS since_ms
  FROM session_tasks t JOIN work_sessions w ON w.id = t.session_id;

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

CREATE VIEW v_work ( -- One row per work item outside the log that is not done: waiting, in progress or given up. Finished items are
  -- removed. Items are runs of agents, flows between agents, and sessions of sub-agents to be deleted.
  effect_id, -- text: unique, never reused; `run/<run id>` for a run, `job/<job id>` for a flow
  kind, -- text: `run`: a run of an agent; `job`: a flow between agents; `subagent_cleanup`: the deletion of a sub-agent's session
  key, -- text: items with the same key are done one after the other; for a run the key of its session
  pool, -- text: limits how much is done at a time: for a run its lane, else `a2a`. Flows wait there by design
  owner, -- text: the agent, or NULL
  state, -- text: `waiting`, `leased`, `dead`
  attempt, -- integer: number of attempts
  max_attempts, -- integer: the most attempts allowed; NULL: the limit of its kind
  error, -- text: of the last failed attempt, or NULL
  since, -- time: when it was requested
  since_ms, -- time: when it was requested
  due_at, -- time: not started before this time; NULL: at once
  due_ms, -- time: not started before this time; NULL: at once
  lease_until, -- time: when the lease expires; NULL: not leased, or no expiry
  lease_until_ms, -- time: when the lease expires; NULL: not leased, or no expiry
  seq -- integer: of the event that requested it; `v_events` has its data
) AS
SELECT effect_id, kind, key, pool, nullif(owner, '') AS owner, state, attempt, nullif(most, 0) AS max_attempts, nullif(error, '') AS error,
       strftime('%Y-%m-%dT%H:%M:%fZ', since / 1000.0, 'unixepoch') AS since, since AS since_ms,
       CASE WHEN due_at > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1000.0, 'unixepoch') END AS due_at, nullif(due_at, 0) AS due_ms,
       CASE WHEN lease_until > 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1000.0, 'unixepoch') END AS lease_until,
       nullif(lease_until, 0) AS lease_until_ms, seq
  FROM work;

CREATE VIEW v_work_lanes ( -- How much there is, by pool, agent and kind. Counting here costs nothing, whatever waits.
  pool, -- text: as in `v_work`
  owner, -- text: the agent, or NULL
  kind, -- text: as in `v_work`
  waiting, -- integer:
  leased, -- integer:
  dead -- integer:
) AS
SELECT pool, nullif(owner, '') AS owner, kind, waiting, leased, dead
  FROM work_lanes;

CREATE VIEW v_work_sessions ( -- One row per work session.
  work_session, -- text: workSessionId
  title, -- text: the title of its first task, else a label, else a stated goal, else the first message that yields a title; `협업 작업` if none
    -- does
  started_at, -- time: of its earliest event
  start_ms, -- time: of its earliest event
  last_at, -- time: of its latest event
  last_ms, -- time: of its latest event
  status, -- text: `ARCHIVED`: no event for more than 24 hours. `QUIET`: the latest event ends something, and no conversation, child run,
    -- task in progress, flow or run is open. Else `ACTIVE`. Depends on the reader's clock
  outcome, -- text: `blocked` if a thread or task is; else `no_reply`, `waiting`, `active` if a thread, task, flow or run is; else `done`
  reason, -- text: why it is blocked or unanswered, from the thread or task that failed last; else empty
  category, -- text: set by an operator, else by vote of its events
  event_count, -- integer:
  thread_count, -- integer:
  open_threads, -- integer: conversations and child runs that have not ended, or have an unfinished flow
  open_tasks, -- integer: tasks in progress
  blocked_tasks, -- integer: tasks blocked
  conversation_events, -- integer: events by role
  delegation_events, -- integer: events by role
  orchestration_events, -- integer: events by role
  observability_events, -- integer: events by role
  participants, -- text: agents, separated by commas; the first 64
  previous_work_session, -- text: the one it continues, or NULL
  category_source, -- text: `manual_override`: set by an operator. `event`: by vote
  category_updated_at, -- text: when an operator set it; NULL if none did
  category_updated_by, -- text: who set it; NULL: no operator, or no name given
  open_flows, -- integer: unfinished flows between our own agents; 0 in an imported log
  open_runs -- integer: unfinished runs of our own agents; 0 in an imported log
) AS
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
