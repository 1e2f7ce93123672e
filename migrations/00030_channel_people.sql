-- +goose Up
-- Projection "routing": people who asked to write direct messages to agents (dmPolicy pairing), and what was decided about them.
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
CREATE INDEX channel_people_pending ON channel_people (channel, ends) WHERE state = 'pending';

-- +goose Down
DROP TABLE channel_people;
