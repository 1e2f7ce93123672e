package sqlite

import (
	"database/sql"
	"net/url"
)

// OpenPlain opens a SQLite file without our schema, writer or lock, with the same driver and durability as a log, as a
// baseline for benchmarks and for tests. Logs are opened with Open.
func OpenPlain(path string, connections int) (*sql.DB, error) {
	lockOnce.Do(func() { lockErr = useOFDLocks() })
	if lockErr != nil {
		return nil, lockErr
	}
	db, err := sql.Open("sqlite", fileURL(path, url.Values{
		"_txlock": {"immediate"}, "_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_busy_timeout": {"10000"},
	}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// OpenCopy opens a copy of another program's SQLite file for reading. The copy is changed: a write-ahead log beside it is recovered.
func OpenCopy(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", fileURL(path, url.Values{"mode": {"rw"}, "_busy_timeout": {"1000"}, "_defensive": {"1"}}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}
