-- +goose Up
CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at > 0; -- what was spent within some time

-- +goose Down
DROP INDEX runs_by_end;
