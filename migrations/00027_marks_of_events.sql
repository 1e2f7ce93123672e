-- +goose Up
-- The marks of each event, so that the rows of mark_blocks and mark_facets need not change with every commit: a block is written when it has
-- all 256 seqs, the counts of 16 blocks are added with the last of them, and what is missing follows from these columns. The projection
-- "index" is rebuilt, because its version has changed.
ALTER TABLE event_index ADD COLUMN agents TEXT NOT NULL DEFAULT '[]'; -- JSON list: subject, sender and receiver in lower case
ALTER TABLE event_index ADD COLUMN failed INTEGER NOT NULL DEFAULT 0; -- 1: the event reports a failure


-- Pages of a work session are read by its primary key. These indexes cost each event two rows.
DROP INDEX IF EXISTS session_events_by_kind;
DROP INDEX IF EXISTS session_events_by_kind_b;
DROP INDEX IF EXISTS session_events_by_thread;
DROP INDEX IF EXISTS session_events_by_thread_b;

-- +goose Down
CREATE INDEX session_events_by_kind ON session_events (session_id, kind_id, seq);
CREATE INDEX session_events_by_thread ON session_events (thread_id, kind_id, seq);
ALTER TABLE event_index DROP COLUMN failed;
ALTER TABLE event_index DROP COLUMN agents;
