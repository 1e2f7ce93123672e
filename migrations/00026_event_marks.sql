-- +goose Up
-- Which events concern an agent, and which report a failure, so that the log can be filtered and counted by them without reading it. The
-- projection "index" is rebuilt to fill the tables, because its version has changed. A mark is an agent, a failure, or a failure that
-- concerns an agent.
CREATE TABLE mark_facets (
  agent     TEXT NOT NULL,     -- id in lower case of the subject, sender or receiver; '' for every event
  failed    INTEGER NOT NULL,  -- 1: only events that report a failure
  facet_id  INTEGER NOT NULL,
  n         INTEGER NOT NULL,  -- events
  first_seq INTEGER NOT NULL,  -- lowest seq among them
  PRIMARY KEY (agent, failed, facet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark_blocks (
  agent  TEXT NOT NULL,
  failed INTEGER NOT NULL,
  block  INTEGER NOT NULL, -- seq / 256
  bits   BLOB NOT NULL,    -- bit seq % 256: the event has the mark
  PRIMARY KEY (agent, failed, block)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE mark_blocks;
DROP TABLE mark_facets;
