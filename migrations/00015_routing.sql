-- +goose Up
-- Projection "routing": what was decided about messages in Discord, and what happened in its threads and channels. A decision table. What was said
-- is in the events; the tables only say where.
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
CREATE INDEX discord_messages_by_place ON discord_messages (place_id);

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
CREATE INDEX discord_verdicts_by_agent ON discord_verdicts (agent, message);
CREATE INDEX discord_verdicts_of_handlers ON discord_verdicts (agent, message) WHERE mode = 'handler';

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
CREATE INDEX discord_places_by_last ON discord_places (last_at);
CREATE INDEX discord_places_threads ON discord_places (last_at) WHERE thread = 1;
CREATE INDEX discord_places_suspended ON discord_places (suspended_until) WHERE suspended_until <> 0;
CREATE INDEX discord_places_reports ON discord_places (report_of, channel_id) WHERE report_of <> '';

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
CREATE INDEX discord_participants_by_agent ON discord_participants (agent, thread_id);

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
CREATE INDEX discord_observed_by_agent ON discord_observed (agent, seq);
CREATE INDEX discord_observed_by_seq ON discord_observed (seq DESC, agent);

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
CREATE INDEX discord_pairs_by_agent ON discord_pairs (agent);
CREATE INDEX discord_pairs_by_other ON discord_pairs (other);

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
CREATE INDEX discord_posts_by_place ON discord_posts (place_id);
CREATE INDEX discord_posts_by_agent ON discord_posts (agent);
CREATE INDEX discord_posts_by_purpose ON discord_posts (purpose);
CREATE INDEX discord_posts_by_effect ON discord_posts (effect_id);

CREATE VIEW v_discord_messages AS
SELECT m.message_id, nullif(m.channel_id, '') AS channel_id,
       nullif(m.thread_id, '') AS thread_id, nullif(m.guild_id, '') AS guild_id, nullif(m.author_id, '') AS author_id,
       nullif(m.author_name, '') AS author_name, nullif(m.author_agent, '') AS author_agent,
       coalesce(e.data ->> '$.text', e.data ->> '$.summary') AS text, nullif(m.mentioned, '[]') AS mentioned, m.system,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'handler') AS handlers,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'observer') AS observers,
       (SELECT count(*) FROM discord_verdicts v WHERE v.message = m.id AND v.mode = 'dropped') AS dropped,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at, m.at AS sent_ms, m.id AS seq
  FROM discord_messages m LEFT JOIN events e ON e.seq = m.id;

CREATE VIEW v_discord_verdicts AS
SELECT m.message_id, v.agent, v.mode, nullif(v.reason, '') AS reason,
       nullif(v.ord, '') AS part, nullif(v.account_id, '') AS account_id, nullif(v.run_id, '') AS run_id,
       nullif(m.channel_id, '') AS channel_id, nullif(m.thread_id, '') AS thread_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at, m.at AS sent_ms, v.seq
  FROM discord_verdicts v JOIN discord_messages m ON m.id = v.message;

CREATE VIEW v_discord_threads AS
SELECT p.place_id AS thread_id, nullif(p.channel_id, '') AS channel_id, nullif(p.guild_id, '') AS guild_id, nullif(p.name, '') AS name,
       nullif(p.kind, '') AS kind, nullif(p.report_of, '') AS report_of,
       (SELECT count(*) FROM discord_participants a WHERE a.thread_id = p.place_id AND a.left_at = 0) AS participants,
       nullif(p.last_id, '') AS last_message_id,
       CASE WHEN p.last_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.last_at / 1000.0, 'unixepoch') END AS last_at, nullif(p.last_at, 0) AS last_ms,
       CASE WHEN p.suspended_until <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', p.suspended_until / 1000.0, 'unixepoch') END AS suspended_until,
       nullif(p.suspended_until, 0) AS suspended_until_ms, nullif(p.suspended_for, '') AS suspended_for, p.seq
  FROM discord_places p
 WHERE p.thread = 1;

CREATE VIEW v_discord_participants AS
SELECT a.thread_id, a.agent, nullif(a.bot_user_id, '') AS bot_user_id, nullif(a.reason, '') AS reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.since / 1000.0, 'unixepoch') AS since, a.since AS since_ms,
       CASE WHEN a.left_at <> 0 THEN strftime('%Y-%m-%dT%H:%M:%fZ', a.left_at / 1000.0, 'unixepoch') END AS left_at, nullif(a.left_at, 0) AS left_ms,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(p.last_at, 0) / 1000.0, 'unixepoch') AS last_at, nullif(p.last_at, 0) AS last_ms, a.seq
  FROM discord_participants a LEFT JOIN discord_places p ON p.place_id = a.thread_id;

CREATE VIEW v_discord_observed AS
SELECT o.agent, o.place_id, o.message_id, coalesce(e.data ->> '$.authorName', e.data ->> '$.authorId') AS sender, e.data ->> '$.summary' AS summary,
       e.data ->> '$.mentionedAgents' AS mentioned, e.data ->> '$.mentions' AS mentioned_users, e.data ->> '$.urls' AS urls,
       e.data ->> '$.prNumbers' AS pr_numbers, e.data ->> '$.codeRefs' AS code_refs,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.at / 1000.0, 'unixepoch') AS sent_at, o.at AS sent_ms, o.seq
  FROM discord_observed o LEFT JOIN events e ON e.seq = o.seq;

CREATE VIEW v_discord_posts AS
SELECT message_id, place_id, nullif(thread_id, '') AS thread_id, nullif(agent, '') AS agent, nullif(account_id, '') AS account_id,
       nullif(purpose, '') AS purpose, effect_id, nullif(run_id, '') AS run_id, nullif(collab_id, '') AS collab_id, system,
       strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS posted_at, at AS posted_ms, id AS seq
  FROM discord_posts;

-- +goose Down
DROP VIEW v_discord_posts;
DROP VIEW v_discord_observed;
DROP VIEW v_discord_participants;
DROP VIEW v_discord_threads;
DROP VIEW v_discord_verdicts;
DROP VIEW v_discord_messages;
DROP TABLE discord_posts;
DROP TABLE discord_pairs;
DROP TABLE discord_observers;
DROP TABLE discord_observed;
DROP TABLE discord_participants;
DROP TABLE discord_places;
DROP TABLE discord_verdicts;
DROP TABLE discord_messages;
