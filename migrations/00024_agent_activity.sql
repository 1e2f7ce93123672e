-- +goose Up
-- The last event of each agent, so that it is known without reading the log. The projection "index" is rebuilt to fill it, because its version has
-- changed.
CREATE TABLE agent_activity (
  agent TEXT PRIMARY KEY,  -- id in lower case
  seq   INTEGER NOT NULL,  -- of the last event with this agent, without those about files
  at    INTEGER NOT NULL,  -- its own time, in ms since 1970
  type  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE agent_activity;
