// Package archiving moves payloads of old events from a database into the archives beside it, and writes a log and
// its archives back into one database.
package archiving

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/needed"
	"github.com/pronto-lab/openclawd/projections/search"
)

// DefaultKeep is how many of the newest events are never archived by default: prompts and lists of recent messages are
// read from them.
const DefaultKeep = 50_000

// ArchiveEvents is the most events of one archive. They are blanked in one transaction, for which appends wait.
const ArchiveEvents = 50_000

// Request says what to archive: events stored before a time, or up to a given event.
type Request struct {
	Before time.Time // zero: use Until
	Until  int64
	Keep   int64 // newest events that stay, whatever is requested
	By     string
	Now    func() time.Time
}

// Plan is the part of a request that can be archived.
type Plan struct {
	Head   int64           `json:"head"`
	Asked  int64           `json:"asked"` // last requested event
	Keep   int64           `json:"keep"`
	First  int64           `json:"first"` // first event that is not archived yet
	Last   int64           `json:"last"`  // last event that can be; before First: none can
	Needed []needed.Reason `json:"needed"`

	open []archive.Manifest // archives whose events are not all blanked: an earlier run was killed
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return p.Last < p.First && len(p.open) == 0 }

// ForeignError says that an archive belongs to another log.
type ForeignError struct {
	File string
	Seq  int64
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is an archive of another log: event %d differs", e.File, e.Seq)
}
func (e *ForeignError) Code() string { return "archive_foreign" }
func (e *ForeignError) Hint() string { return "move the archives of other logs to another directory" }

// Prepare returns the part of a request that can be archived. Errors: *needed.StaleError, *ForeignError,
// *eventstore.ArchivedError.
func Prepare(ctx context.Context, log *sqlite.DB, r *Request) (*Plan, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	list, err := database.Archives(log).List()
	if err != nil {
		return nil, err
	}
	p := &Plan{Head: head.Seq, Asked: r.Until, Keep: r.Keep, First: 1}
	for i := range list {
		if err := checkOrigin(ctx, log, &list[i]); err != nil {
			return nil, err
		}
		p.First = max(p.First, list[i].Last+1)
	}
	err = log.View(ctx, func(tx *sql.Tx) error {
		if !r.Before.IsZero() {
			if p.Asked, err = lastBefore(ctx, tx, head.Seq, r.Before.UnixMilli()); err != nil {
				return err
			}
		}
		for i := range list {
			whole, err := isBlank(ctx, tx, list[i].First, list[i].Last)
			if err != nil {
				return err
			}
			if !whole {
				p.open = append(p.open, list[i])
			}
		}
		p.Needed, err = needed.Find(ctx, tx, r.Now().UnixMilli())
		return err
	})
	if err != nil {
		return nil, err
	}
	fed, err := searchPosition(ctx, log)
	if err != nil {
		return nil, err
	}
	if fed != nil {
		p.Needed = append(p.Needed, *fed)
		slices.SortStableFunc(p.Needed, func(a, b needed.Reason) int { return int(min(max(a.Seq-b.Seq, -1), 1)) })
	}
	p.Last = min(p.Asked, p.Head-p.Keep)
	if len(p.Needed) > 0 {
		p.Last = min(p.Last, p.Needed[0].Seq-1)
	}
	p.Last = max(p.Last, p.First-1)
	return p, nil
}

// checkOrigin checks that an archive is of this log: its last hash must be the log's at that event.
func checkOrigin(ctx context.Context, log *sqlite.DB, m *archive.Manifest) error {
	e, err := log.Event(ctx, m.Last)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return err
	}
	if err != nil || e.Hash != m.Head {
		return &ForeignError{m.File, m.Last}
	}
	return nil
}

// Verify reads a whole archive and checks that it is complete and of this log. Errors: *eventstore.ArchivedError,
// *ForeignError.
func Verify(ctx context.Context, log *sqlite.DB, m *archive.Manifest) error {
	if err := database.Archives(log).Verify(ctx, *m); err != nil {
		return err
	}
	return checkOrigin(ctx, log, m)
}

// lastBefore returns the last event stored before a time.
func lastBefore(ctx context.Context, tx *sql.Tx, head, ms int64) (int64, error) {
	var failed error
	n := sort.Search(int(head), func(i int) bool {
		var at int64
		if err := tx.QueryRowContext(ctx, "SELECT recorded_at FROM events WHERE seq = ?", i+1).Scan(&at); err != nil && failed == nil {
			failed = fmt.Errorf("read the time of event %d: %w", i+1, err)
		}
		return at >= ms
	})
	return int64(n), failed
}

// isBlank reports whether all payloads of a range are gone from the file, except those that stay because of their
// type.
func isBlank(ctx context.Context, tx *sql.Tx, first, last int64) (blank bool, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT type FROM events WHERE seq BETWEEN ? AND ? AND data IS NOT NULL", first, last)
	if err != nil {
		return false, fmt.Errorf("check for blank events: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var typ string
		if err := rows.Scan(&typ); err != nil {
			return false, fmt.Errorf("check for blank events: %w", err)
		}
		if !needed.Kept(typ, true) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// searchPosition returns how far the search file was fed; nil if there is none.
func searchPosition(ctx context.Context, log *sqlite.DB) (_ *needed.Reason, err error) {
	file, err := sqlite.OpenSide(ctx, database.SearchFile(log.Path()), true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := &needed.Reason{}
	err = file.View(ctx, func(tx *sql.Tx) (err error) {
		r.Seq, err = search.Position(ctx, tx)
		return err
	})
	if _, stale := errors.AsType[*search.StaleError](err); stale {
		return nil, nil // it will be rebuilt, from archives too
	}
	r.What = fmt.Sprintf("the search file is fed up to %d", r.Seq)
	r.Seq++
	return r, err
}

// Result is what a run has archived.
type Result struct {
	Archives []archive.Manifest
	Blanked  int64 // payloads that left the file
}

// Run archives what was planned. Each archive is sealed and read back before its events are blanked, in the
// transaction that records it in the log. If it is interrupted nothing is lost, and the next run continues. The log
// needs its projections. tell may be nil.
func Run(ctx context.Context, log *sqlite.DB, p *Plan, r *Request, tell func(done, total int64)) (done Result, err error) {
	dir := database.Archives(log)
	for i := range p.open {
		if err := dir.Verify(ctx, p.open[i]); err != nil {
			return done, err
		}
		if err := done.blank(ctx, log, &p.open[i], r); err != nil {
			return done, err
		}
	}
	for first := p.First; first <= p.Last; first += ArchiveEvents {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		m, err := dir.Seal(ctx, log, first, min(first+ArchiveEvents-1, p.Last), r.Now(), func(n, _ int64) {
			if tell != nil {
				tell(first-p.First+n, p.Last-p.First+1)
			}
		})
		if err != nil {
			return done, err
		}
		if err := done.blank(ctx, log, &m, r); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (d *Result) blank(ctx context.Context, log *sqlite.DB, m *archive.Manifest, r *Request) error {
	archived := eventstore.StreamAppend{Stream: coordination.ArchiveStream}
	err := archived.Add(eventstore.NewEvent{Type: coordination.TypeLogArchived, Actor: eventstore.ActorHuman},
		coordination.LogArchived{Context: coordination.Context{EventRole: coordination.RoleObservability},
			First: m.First, Last: m.Last, File: m.File, SHA256: m.SHA256, By: coordination.Mask(r.By)}, r.Now().UnixMilli())
	if err != nil {
		return err
	}
	n, err := log.Archive(ctx, m.First, m.Last, needed.Kept, archived)
	if err != nil {
		return err
	}
	d.Archives, d.Blanked = append(d.Archives, *m), d.Blanked+n
	return nil
}
