-- +goose Up
-- Kept by the triggers below, so that no one walks all calls ever made: not a projection.
CREATE TABLE unsettled (
  state     TEXT NOT NULL,    -- open: a call of a tool, or a command, whose end is not in the log; unknown: a call whose outcome is unknown
  stream_id INTEGER NOT NULL, -- streams.id
  PRIMARY KEY (state, stream_id)
) STRICT, WITHOUT ROWID;

INSERT INTO unsettled
SELECT coalesce((SELECT 'unknown' FROM events l WHERE l.stream_id = s.id AND l.version = 2), 'open'), s.id FROM streams s
 WHERE s.name >= 'tool/' AND s.name < 'tool0'
   AND NOT EXISTS (SELECT 1 FROM events l WHERE l.stream_id = s.id AND l.version = 2 AND l.type <> 'tool.outcome_unknown');
INSERT INTO unsettled
SELECT 'open', s.id FROM streams s
 WHERE s.name >= 'process/' AND s.name < 'process0'
   AND NOT EXISTS (SELECT 1 FROM events l WHERE l.stream_id = s.id AND l.data ->> '$.ended');

-- +goose StatementBegin
CREATE TRIGGER events_open AFTER INSERT ON events
WHEN new.type IN ('tool.called', 'tool.output') AND new.actor <> 'import' AND NOT coalesce(new.type = 'tool.output' AND new.data ->> '$.ended', 0)
BEGIN
  INSERT OR IGNORE INTO unsettled VALUES ('open', new.stream_id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_settle AFTER INSERT ON events
WHEN new.type IN ('tool.ended', 'tool.outcome_unknown', 'tool.output') AND new.actor <> 'import' AND coalesce(new.type <> 'tool.output' OR new.data ->> '$.ended', 0)
BEGIN
  DELETE FROM unsettled WHERE state = 'open' AND stream_id = new.stream_id;
  INSERT OR IGNORE INTO unsettled SELECT 'unknown', new.stream_id WHERE new.type = 'tool.outcome_unknown';
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER events_settle;
DROP TRIGGER events_open;
DROP TABLE unsettled;
