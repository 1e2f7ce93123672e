-- +goose Up
-- Projection "session": what models used for answers that no run here gave, such as those of another program that were taken over. The projection
-- is rebuilt to fill it, because its version has changed.
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
CREATE INDEX session_usage_by_session ON session_usage (session_key, quarter);

-- +goose Down
DROP TABLE session_usage;
