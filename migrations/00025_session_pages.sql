-- +goose Up
-- Pages of a long work session, or of one of its threads, are read from these: one range for each kind of event.
CREATE INDEX session_events_by_kind ON session_events (session_id, kind_id, seq);
CREATE INDEX session_events_by_thread ON session_events (thread_id, kind_id, seq);

-- +goose Down
DROP INDEX session_events_by_thread;
DROP INDEX session_events_by_kind;
