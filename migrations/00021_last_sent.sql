-- +goose Up
-- What a session has sent to an agent outside of tasks: the newest one says which conversation goes on.
CREATE INDEX a2a_jobs_last_sent ON a2a_jobs (requester_key, to_agent) WHERE kind = 'send' AND task_id = '';
CREATE INDEX a2a_jobs_last_sent_to_any ON a2a_jobs (requester_key, kind) WHERE kind = 'send' AND task_id = ''; -- kind makes it the better one of two

-- +goose Down
DROP INDEX a2a_jobs_last_sent_to_any;
DROP INDEX a2a_jobs_last_sent;
