-- +goose Up
-- What agents have passed on to each other, by the chain of causes that it belongs to: read where one more is to be passed on. The projection "run"
-- is rebuilt to fill it, because its version has changed.
CREATE TABLE run_passes (
  id   INTEGER PRIMARY KEY, -- seq of the event that passes something on: it begins a flow, or queues a run
  root TEXT NOT NULL,       -- the run with which the chain began
  pair TEXT NOT NULL,       -- the two agents, in the order of their ids, with | between them
  at   INTEGER NOT NULL     -- ms since 1970
) STRICT;
CREATE INDEX run_passes_by_root ON run_passes (root);
CREATE INDEX run_passes_by_pair ON run_passes (root, pair);

-- +goose Down
DROP TABLE run_passes;
