package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode"

	"github.com/pronto-lab/openclawd/eventstore"
)

// File is the file that contains the index. Its errors are *eventstore.CorruptError if it is damaged.
type File interface {
	// View runs read in one read transaction.
	View(ctx context.Context, read func(*sql.Tx) error) error
	// Update runs write in one transaction. Updates are serialised.
	Update(ctx context.Context, write func(*sql.Tx) error) error
	// Reset discards the file and creates it again with the content written by setup.
	Reset(ctx context.Context, setup func(*sql.Tx) error) error
}

// version of the file's content and of the tokenizer. Increment it with every change of either.
const version = "2/" + unicode.Version

// The file's tables. They contain only the positions of tokens, not the texts.
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

// position is how far a file was fed.
type position struct {
	version, indexVersion string
	seq                   int64
	hash                  []byte
}

func setup(tx *sql.Tx) error {
	if _, err := tx.Exec(schema); err != nil {
		return fmt.Errorf("create search tables: %w", err)
	}
	// Feeding is a tenth faster than with FTS5's default of merging 4 segments, and searching no slower.
	if _, err := tx.Exec("INSERT INTO texts (texts, rank) VALUES ('automerge', 8)"); err != nil {
		return fmt.Errorf("set up search tables: %w", err)
	}
	_, err := tx.Exec("INSERT INTO position (version, index_version, seq, hash) VALUES (?, '', 0, x'')", version)
	return err
}

const selectPosition = "SELECT version, index_version, seq, hash FROM position"

// readPosition reads how far a file was fed. ok is false for one without our tables.
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

// Position returns the event up to which a file was fed. Errors: *StaleError if this version cannot search the file.
func Position(ctx context.Context, tx *sql.Tx) (seq int64, err error) {
	p, ok, err := readPosition(ctx, tx)
	if err == nil && (!ok || p.version != version) {
		err = &StaleError{}
	}
	return p.seq, err
}

// StaleError says that a search file was written by another version, or is still being created.
type StaleError struct{}

func (*StaleError) Error() string {
	return "the search file was written by another version of openclawd"
}
func (*StaleError) Code() string { return "search_stale" }
func (*StaleError) Hint() string { return "openclawd serve rebuilds it from the log" }

// damaged reports whether an error of the file means that it has to be rebuilt.
func damaged(err error) bool {
	var corrupt *eventstore.CorruptError
	return errors.As(err, &corrupt)
}
