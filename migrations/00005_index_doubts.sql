-- +goose Up
-- What the classifier had to guess, counted where the events are counted already: no commit touches a page more for it. The projection
-- "index" is rebuilt to fill them, because its version has changed.
ALTER TABLE facets ADD COLUMN from_unknown INTEGER NOT NULL DEFAULT 0;      -- events whose sender's session type is unknown
ALTER TABLE facets ADD COLUMN to_unknown INTEGER NOT NULL DEFAULT 0;        -- the same of the receiver
ALTER TABLE facets ADD COLUMN role_guessed INTEGER NOT NULL DEFAULT 0;      -- events that did not say their role
ALTER TABLE facets ADD COLUMN category_fallback INTEGER NOT NULL DEFAULT 0; -- events in which nothing spoke for their category

-- +goose Down
ALTER TABLE facets DROP COLUMN category_fallback;
ALTER TABLE facets DROP COLUMN role_guessed;
ALTER TABLE facets DROP COLUMN to_unknown;
ALTER TABLE facets DROP COLUMN from_unknown;
