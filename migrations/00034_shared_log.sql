-- +goose Up
-- What a node knows of itself where nodes share a log. Not projections: they differ between nodes.
CREATE TABLE shared_copy (
  one INTEGER PRIMARY KEY CHECK (one = 1) -- there is a row if this file is a copy of a shared log, which alone takes appends
) STRICT;

CREATE TABLE redactions_here (
  seq INTEGER PRIMARY KEY -- of a log.redacted that the files of this node have carried out
) STRICT;

-- +goose Down
DROP TABLE redactions_here;
DROP TABLE shared_copy;
