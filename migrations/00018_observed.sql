-- +goose Up
-- What an agent has observed stays when it was told of it: the comment says so.
-- +goose StatementBegin
DROP VIEW v_discord_observed;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE VIEW v_discord_observed ( -- One row per agent and message that it has observed: at most 50 of each place. How many of these its runs there are told of, and how old they may
  -- be, is configured. Bound `place_id` or `agent` on a big log.
  agent, -- text:
  place_id, -- text: the thread or channel
  message_id, -- text:
  sender, -- text:
  summary, -- text: at most 50 characters of the message. NULL once redacted, like all that was said
  mentioned, -- JSON: agents, or NULL
  mentioned_users, -- JSON: ids of users, or NULL
  urls, -- JSON: what stands out in the message, or NULL
  pr_numbers, -- JSON: what stands out in the message, or NULL
  code_refs, -- JSON: what stands out in the message, or NULL
  sent_at, -- time: when the message was sent
  sent_ms, -- time: when the message was sent
  seq -- integer: of the event that has it
) AS
SELECT o.agent, o.place_id, o.message_id, coalesce(e.data ->> '$.authorName', e.data ->> '$.authorId') AS sender, e.data ->> '$.summary' AS summary,
       e.data ->> '$.mentionedAgents' AS mentioned, e.data ->> '$.mentions' AS mentioned_users, e.data ->> '$.urls' AS urls,
       e.data ->> '$.prNumbers' AS pr_numbers, e.data ->> '$.codeRefs' AS code_refs,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.at / 1000.0, 'unixepoch') AS sent_at, o.at AS sent_ms, o.seq
  FROM discord_observed o LEFT JOIN events e ON e.seq = o.seq;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP VIEW v_discord_observed;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE VIEW v_discord_observed ( -- One row per agent and message that it has observed and not been told of: at most 50 of each place. How many of these it is told of, and how
  -- old they may be, is configured. Bound `place_id` or `agent` on a big log.
  agent, -- text:
  place_id, -- text: the thread or channel
  message_id, -- text:
  sender, -- text:
  summary, -- text: at most 50 characters of the message. NULL once redacted, like all that was said
  mentioned, -- JSON: agents, or NULL
  mentioned_users, -- JSON: ids of users, or NULL
  urls, -- JSON: what stands out in the message, or NULL
  pr_numbers, -- JSON: what stands out in the message, or NULL
  code_refs, -- JSON: what stands out in the message, or NULL
  sent_at, -- time: when the message was sent
  sent_ms, -- time: when the message was sent
  seq -- integer: of the event that has it
) AS
SELECT o.agent, o.place_id, o.message_id, coalesce(e.data ->> '$.authorName', e.data ->> '$.authorId') AS sender, e.data ->> '$.summary' AS summary,
       e.data ->> '$.mentionedAgents' AS mentioned, e.data ->> '$.mentions' AS mentioned_users, e.data ->> '$.urls' AS urls,
       e.data ->> '$.prNumbers' AS pr_numbers, e.data ->> '$.codeRefs' AS code_refs,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.at / 1000.0, 'unixepoch') AS sent_at, o.at AS sent_ms, o.seq
  FROM discord_observed o LEFT JOIN events e ON e.seq = o.seq;
-- +goose StatementEnd
