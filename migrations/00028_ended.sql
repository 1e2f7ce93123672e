-- +goose Up
-- What is no longer owed is listed by when it ended: seqs of the events that ended it. The projection "a2a" is rebuilt to fill the column,
-- because its version has changed.
ALTER TABLE a2a_handoffs ADD COLUMN ended_seq INTEGER NOT NULL DEFAULT 0; -- of the event that ended it; 0: it is open
CREATE INDEX a2a_handoffs_ended ON a2a_handoffs (ended_seq) WHERE ended_seq > 0;
CREATE INDEX a2a_jobs_over ON a2a_jobs (over_seq) WHERE over_seq > 0;
CREATE INDEX collaborations_by_last_seq ON collaborations (last_seq);

-- +goose Down
DROP INDEX collaborations_by_last_seq;
DROP INDEX a2a_jobs_over;
DROP INDEX a2a_handoffs_ended;
ALTER TABLE a2a_handoffs DROP COLUMN ended_seq;
