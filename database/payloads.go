package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// payloads reads archived payloads of a database.
type payloads struct{ *archive.Dir }

// Payloads restores archived payloads of a database in reads. There need be none.
func Payloads(db string) sqlite.Payloads {
	if path, err := filepath.Abs(db); err == nil {
		db = path
	}
	if path, err := filepath.EvalSymlinks(db); err == nil {
		db = path
	}
	return &payloads{archive.Open(ArchiveDir(db))}
}

// Archives returns the archive directory of an open database, from which it reads payloads.
func Archives(log *sqlite.DB) *archive.Dir {
	if p, ok := log.Payloads().(*payloads); ok {
		return p.Dir
	}
	return archive.Open(ArchiveDir(log.Path()))
}

// A redaction is pending from its log.redacted to its log.forgotten; another log.redacted starts it again.
const selectGoing = `SELECT x.value FROM streams s JOIN events e ON e.stream_id = s.id JOIN events r ON r.stream_id = s.id, json_each(r.data, '$.seqs') x
 WHERE s.name > 'redaction/' AND s.name < 'redaction0' AND e.version = (SELECT max(version) FROM events WHERE stream_id = s.id)
   AND e.type = ? AND e.actor <> ? AND r.type = e.type`

// Going implements sqlite.Payloads.
func (p *payloads) Going(ctx context.Context, log sqlite.Viewer) (going map[int64]bool, err error) {
	if there, err := p.Any(); err != nil || !there {
		return nil, nil // nolint:nilerr // without its state there is no payload either
	}
	err = log.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, selectGoing, coordination.TypeLogRedacted, eventstore.ActorImport)
		if err != nil {
			return fmt.Errorf("read pending redactions: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var seq int64
			if err := rows.Scan(&seq); err != nil {
				return fmt.Errorf("read pending redactions: %w", err)
			}
			if going == nil {
				going = map[int64]bool{}
			}
			going[seq] = true
		}
		return rows.Err()
	})
	return going, err
}

// Lost implements sqlite.Payloads: an event that is blank, was archived and never redacted has lost its payload.
func (p *payloads) Lost(ctx context.Context, log sqlite.Viewer, blank []int64) error {
	blank = slices.DeleteFunc(blank, p.Has) // redacted in the archive too
	if len(blank) == 0 {
		return nil
	}
	return log.View(ctx, func(tx *sql.Tx) error {
		archived, err := projections.Archived(ctx, tx, blank)
		if err != nil || len(archived) == 0 {
			return err
		}
		ranges, err := Archived(ctx, tx)
		if err != nil {
			return err
		}
		for _, a := range ranges {
			for _, seq := range blank {
				if archived[seq] && a.First <= seq && seq <= a.Last {
					return &eventstore.ArchivedError{First: a.First, Last: a.Last, File: filepath.Join(p.Path(), a.File), Err: fs.ErrNotExist}
				}
			}
		}
		return nil
	})
}

// A file that WriteWhole made of a log and its archives contains the archived payloads, although its log says that
// they were archived.
const selectArchived = `SELECT e.data FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.type = ? AND e.actor <> ?
 AND EXISTS (SELECT 1 FROM events b WHERE b.seq BETWEEN e.data ->> '$.first' AND e.data ->> '$.last' AND b.data IS NULL AND b.seq NOT IN (
  SELECT x.value FROM streams rs JOIN events r ON r.stream_id = rs.id, json_each(r.data, '$.seqs') x
   WHERE rs.name > 'redaction/' AND rs.name < 'redaction0' AND r.type = ? AND r.actor <> ?))
 ORDER BY e.version`

// Archived lists, in the order of archiving, what the log says was archived and the file does not contain.
func Archived(ctx context.Context, tx *sql.Tx) (list []coordination.LogArchived, err error) {
	rows, err := tx.QueryContext(ctx, selectArchived, coordination.ArchiveStream, coordination.TypeLogArchived, eventstore.ActorImport,
		coordination.TypeLogRedacted, eventstore.ActorImport)
	if err != nil {
		return nil, fmt.Errorf("read archived ranges: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var data sql.RawBytes
		var a coordination.LogArchived
		if err := rows.Scan(&data); err != nil {
			return nil, fmt.Errorf("read archived ranges: %w", err)
		}
		if err := json.Unmarshal(data, &a); err != nil {
			return nil, fmt.Errorf("read archived ranges: %w", err)
		}
		list = append(list, a)
	}
	return list, rows.Err()
}
