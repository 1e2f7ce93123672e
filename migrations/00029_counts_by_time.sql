-- +goose Up
-- Counts by time, so that a filter on time, or on archived work sessions, does not read each event of an hour or each session of a day.
-- The projections "index" and "conversation" are rebuilt to fill the tables, because their versions have changed.
CREATE TABLE block_times (
  block    INTEGER PRIMARY KEY, -- seq / 256
  n        INTEGER NOT NULL,    -- events
  earliest REAL NOT NULL,       -- time of events, as in event_index
  latest   REAL NOT NULL
) STRICT;

CREATE TABLE session_hours ( -- how many work sessions with just these kinds of events had their last event in an hour, by category
  hour      INTEGER NOT NULL, -- time / 3,600,000 ms, rounded down
  signature TEXT NOT NULL,    -- as in session_census
  category  TEXT NOT NULL,
  n         INTEGER NOT NULL,
  PRIMARY KEY (hour, signature, category)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE session_hours;
DROP TABLE block_times;
