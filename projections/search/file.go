package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode"

	"github.com/pronto-lab/openclawd/eventstore"
)

// File is the file in which the index lies. Its errors are *eventstore.CorruptError where it is damaged.
type File interface {
	// View runs read in one read transaction.
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Update runs write in one transaction. Updates follow one another.
	Update(ctx context.Context, write func(*sql.Tx) error) error
	// Reset throws the file away and begins it anew with what setup makes.
	Reset(ctx context.Context, setup func(*sql.Tx) error) error
}

// version of what is in the file and of how texts are taken apart. Count it up with every change of either.
const version = "2/" + unicode.Version

// What the file holds. The texts themselves are not in it, only where their tokens stand.
const schema = `
CREATE VIRTUAL TABLE texts USING fts5(body, content='', contentless_delete=1, tokenize='ascii', prefix='1'); -- rowid: seq
CREATE TABLE docs (
  seq     INTEGER PRIMARY KEY,
  session INTEGER NOT NULL, -- sessions.id; 0: none
  time    REAL NOT NULL     -- ms since 1970
) STRICT;
CREATE TABLE spans (
  block  INTEGER PRIMARY KEY, -- seq / 512
  oldest REAL NOT NULL,       -- time of its events, ms since 1970
  newest REAL NOT NULL
) STRICT;
CREATE TABLE sessions (
  id   INTEGER PRIMARY KEY, -- seq of the session's first event that is indexed
  name TEXT NOT NULL UNIQUE -- workSessionId
) STRICT;
CREATE TABLE position (
  version       TEXT NOT NULL, -- of this file
  index_version TEXT NOT NULL, -- of the projection that roles and categories are from
  seq           INTEGER NOT NULL, -- events up to here are in
  hash          BLOB NOT NULL  -- chain hash of that event, which tells one log from another
) STRICT;`

// position is how far a file has come.
type position struct {
	version, indexVersion string
	seq                   int64
	hash                  []byte
}

func setup(tx *sql.Tx) error {
	if _, err := tx.Exec(schema); err != nil {
		return fmt.Errorf("make search tables: %w", err)
	}
	// Feeding is a tenth faster than with the 4 segments that FTS5 merges by itself, and searching no slower.
	if _, err := tx.Exec("INSERT INTO texts (texts, rank) VALUES ('automerge', 8)"); err != nil {
		return fmt.Errorf("set up search tables: %w", err)
	}
	_, err := tx.Exec("INSERT INTO position (version, index_version, seq, hash) VALUES (?, '', 0, x'')", version)
	return err
}

const selectPosition = "SELECT version, index_version, seq, hash FROM position"

// readPosition reads how far a file has come. ok is false for one without our tables.
func readPosition(ctx context.Context, tx *sql.Tx) (p position, ok bool, err error) {
	var tables int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('texts', 'docs', 'spans', 'sessions', 'position')").
		Scan(&tables); err != nil || tables < 5 {
		return p, false, err
	}
	err = tx.QueryRowContext(ctx, selectPosition).Scan(&p.version, &p.indexVersion, &p.seq, &p.hash)
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, err
}

// Position says up to which event a file has come.
// Errors: *StaleError where the file cannot be searched by this version.
func Position(ctx context.Context, tx *sql.Tx) (seq int64, err error) {
	p, ok, err := readPosition(ctx, tx)
	if err == nil && (!ok || p.version != version) {
		err = &StaleError{}
	}
	return p.seq, err
}

// StaleError says that a search file was made by another version, or is only being made.
type StaleError struct{}

func (*StaleError) Error() string { return "the search file was made by another version of openclawd" }
func (*StaleError) Code() string  { return "search_stale" }
func (*StaleError) Hint() string  { return "openclawd serve makes it anew from the log" }

// damaged reports whether an error of the file says that it has to be made anew.
func damaged(err error) bool {
	var corrupt *eventstore.CorruptError
	return errors.As(err, &corrupt)
}
