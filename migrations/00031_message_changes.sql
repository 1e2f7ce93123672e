-- +goose Up
-- Projection "routing": messages that were edited or deleted after the decision about them. What they say now is in the events.
CREATE TABLE discord_changes (
  message_id TEXT PRIMARY KEY, -- like discord_messages.message_id
  place_id   TEXT NOT NULL,    -- like discord_messages.place_id
  edited_at  INTEGER NOT NULL, -- when its author edited it last, ms since 1970; 0: never
  deleted_at INTEGER NOT NULL, -- when it was deleted, ms since 1970; 0: it is not
  seq        INTEGER NOT NULL  -- of the last event about it
) STRICT, WITHOUT ROWID;
CREATE INDEX discord_changes_by_place ON discord_changes (place_id, seq);

-- +goose Down
DROP TABLE discord_changes;
