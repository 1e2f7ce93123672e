package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/needed"
	"github.com/pronto-lab/openclawd/projections/search"
)

// DefaultKeep is how many of the newest events are never archived unless somebody says otherwise: prompts and lists of what was said lately
// are read from them.
const DefaultKeep = 50_000

// ArchiveEvents is how many events one archive has at most. They are blanked in one transaction, for which appends wait.
const ArchiveEvents = 50_000

// ArchiveRequest says what is to be archived: events that were stored before a time, or up to one of them.
type ArchiveRequest struct {
	Before time.Time // zero: Until counts
	Until  int64
	Keep   int64 // newest events that stay, whatever was asked for
	By     string
	Now    func() time.Time
}

// ArchivePlan is what can be archived of what was asked for.
type ArchivePlan struct {
	Head   int64           `json:"head"`
	Asked  int64           `json:"asked"` // the last event that was asked for
	Keep   int64           `json:"keep"`
	First  int64           `json:"first"` // of those that are not archived yet
	Last   int64           `json:"last"`  // of those that can be; before First: none can
	Needed []needed.Reason `json:"needed"`

	open []archive.Manifest // archives whose events are not all blank: a run was killed before that
}

// Empty reports whether there is nothing to do.
func (p *ArchivePlan) Empty() bool { return p.Last < p.First && len(p.open) == 0 }

// ForeignArchiveError says that an archive is of another log.
type ForeignArchiveError struct {
	File string
	Seq  int64
}

func (e *ForeignArchiveError) Error() string {
	return fmt.Sprintf("%s is an archive of another log: event %d is not the one that it has", e.File, e.Seq)
}
func (e *ForeignArchiveError) Code() string { return "archive_foreign" }
func (e *ForeignArchiveError) Hint() string { return "move the archives of other logs elsewhere" }

// PlanArchive finds out what can be archived. Errors: *needed.StaleError, *ForeignArchiveError, *eventstore.ArchivedError.
func PlanArchive(ctx context.Context, log *sqlite.DB, r *ArchiveRequest) (*ArchivePlan, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	list, err := Archives(log).List()
	if err != nil {
		return nil, err
	}
	p := &ArchivePlan{Head: head.Seq, Asked: r.Until, Keep: r.Keep, First: 1}
	for i := range list {
		if err := holdAgainst(ctx, log, &list[i]); err != nil {
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
	fed, err := searched(ctx, log)
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

// holdAgainst sees that an archive is of this log: it ends with the hash that the log has there.
func holdAgainst(ctx context.Context, log *sqlite.DB, m *archive.Manifest) error {
	e, err := log.Event(ctx, m.Last)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return err
	}
	if err != nil || e.Hash != m.Head {
		return &ForeignArchiveError{m.File, m.Last}
	}
	return nil
}

// VerifyArchive reads all of an archive, and sees that it is whole and of this log. Errors: *eventstore.ArchivedError, *ForeignArchiveError.
func VerifyArchive(ctx context.Context, log *sqlite.DB, m *archive.Manifest) error {
	if err := Archives(log).Verify(ctx, *m); err != nil {
		return err
	}
	return holdAgainst(ctx, log, m)
}

// lastBefore is the last event that was stored before a time.
func lastBefore(ctx context.Context, tx *sql.Tx, head, ms int64) (int64, error) {
	var failed error
	n := sort.Search(int(head), func(i int) bool {
		var at int64
		if err := tx.QueryRowContext(ctx, "SELECT recorded_at FROM events WHERE seq = ?", i+1).Scan(&at); err != nil && failed == nil {
			failed = fmt.Errorf("look for the time of event %d: %w", i+1, err)
		}
		return at >= ms
	})
	return int64(n), failed
}

// isBlank reports whether nothing of a range is left in the file but what stays there by its type.
func isBlank(ctx context.Context, tx *sql.Tx, first, last int64) (blank bool, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT type FROM events WHERE seq BETWEEN ? AND ? AND data IS NOT NULL", first, last)
	if err != nil {
		return false, fmt.Errorf("look for what is blank: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var typ string
		if err := rows.Scan(&typ); err != nil {
			return false, fmt.Errorf("look for what is blank: %w", err)
		}
		if !needed.Kept(typ, true) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// searched is how far the search was fed; nil where there is none.
func searched(ctx context.Context, log *sqlite.DB) (_ *needed.Reason, err error) {
	file, err := sqlite.OpenSide(ctx, SearchFile(log.Path()), true)
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
		return nil, nil // it is going to be made anew, from archives too
	}
	r.What = fmt.Sprintf("the search has been fed up to %d", r.Seq)
	r.Seq++
	return r, err
}

// ArchiveDone is what a run has archived.
type ArchiveDone struct {
	Archives []archive.Manifest
	Blanked  int64 // payloads that left the file
}

// Archive does what was planned: archive by archive it is sealed, read back, and only then its events are blanked, in the transaction that says
// so in the log. Whatever ends it, nothing is lost, and the next run goes on from there. The log needs its projections. tell may be nil.
func Archive(ctx context.Context, log *sqlite.DB, p *ArchivePlan, r *ArchiveRequest, tell func(done, total int64)) (done ArchiveDone, err error) {
	dir := Archives(log)
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

func (d *ArchiveDone) blank(ctx context.Context, log *sqlite.DB, m *archive.Manifest, r *ArchiveRequest) error {
	data, err := json.Marshal(coordination.LogArchived{Context: coordination.Context{EventRole: coordination.RoleObservability},
		First: m.First, Last: m.Last, File: m.File, SHA256: m.SHA256, By: coordination.Mask(r.By)})
	if err != nil {
		return err
	}
	event := eventstore.NewEvent{Type: coordination.TypeLogArchived, Actor: eventstore.ActorHuman, Data: data}.WithTS(r.Now().UnixMilli())
	n, err := log.Archive(ctx, m.First, m.Last, needed.Kept, eventstore.StreamAppend{Stream: coordination.ArchiveStream, Events: []eventstore.NewEvent{event}})
	if err != nil {
		return err
	}
	d.Archives, d.Blanked = append(d.Archives, *m), d.Blanked+n
	return nil
}
