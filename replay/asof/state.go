// Package asof opens the tables of a log as of an event: for time travel in the API, for replay, and to verify that
// tables match their log.
package asof

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Options configures Open.
type Options struct {
	Log    *sqlite.DB // only read; may be in use
	Dir    string     // for scratch files; "": the system's temporary directory
	Rules  coordination.Rules
	Logger *slog.Logger

	// Kept is the directory of the states that a server keeps of this log, which Open starts from; it is only read. "": the
	// first event. Not used with Out.
	Kept string

	Out string // path at which a complete database is written, which Close keeps; "": a scratch file
}

// State is the tables as of one event.
type State struct {
	*sqlite.Scratch
	Fold *projections.Fold // positioned at Until; for folding further events
	At   time.Time         // when that event was recorded; zero for an empty log

	temp   *Temp // holds the file; nil if Dir or Out holds it
	onKept bool  // made from a kept state
}

// Close closes the scratch file.
func (s *State) Close() error { return errors.Join(s.Scratch.Close(), s.leave()) }

// Discard closes the scratch file and removes it.
func (s *State) Discard() error { return errors.Join(s.Scratch.Discard(), s.leave()) }

func (s *State) leave() error {
	if s.temp == nil {
		return nil
	}
	return s.temp.Close()
}

// Open builds the tables as of the event until, which must exist (0: an empty log). tell, which may be nil,
// receives the progress. A cancelled Open removes its files. Errors: *PointError if the event does not exist,
// *TempError, those of projections.Fold, *eventstore.DiskFullError.
func Open(ctx context.Context, opts Options, until int64, tell func(done, total int64)) (*State, error) {
	at, err := recordedAt(ctx, opts.Log, until)
	if err != nil {
		return nil, err
	}
	s := &State{At: at}
	path := opts.Out
	if path == "" {
		if path, err = s.place(opts.Dir); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	if err = s.begin(ctx, opts, path, until); err != nil {
		return nil, errors.Join(err, s.leave())
	}
	if err := s.Fold.Run(ctx, opts.Log, until, tell); err != nil {
		if s.onKept && ctx.Err() == nil {
			if err := s.Discard(); err != nil {
				return nil, err
			}
			opts.Kept = ""
			return Open(ctx, opts, until, tell)
		}
		return nil, errors.Join(fmt.Errorf("build the tables as of event %d: %w", until, err), s.Discard())
	}
	if opts.Logger != nil {
		opts.Logger.Debug("built the tables as of an event", "seq", until, "took", time.Since(start))
	}
	return s, nil
}

// begin opens tables to fold on: those of a kept state if there is one, else empty ones.
func (s *State) begin(ctx context.Context, opts Options, path string, until int64) (err error) {
	o := sqlite.ScratchOptions{Path: path, Log: opts.Log.Path(), Until: until, Whole: opts.Out != "", Payloads: opts.Log.Payloads()}
	if opts.Kept != "" && opts.Out == "" {
		if err := s.beginKept(ctx, opts, o); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return err
		} else if opts.Logger != nil {
			opts.Logger.Warn("cannot read the kept states; folding from the first event", "dir", opts.Kept, "err", err)
		}
	}
	s.Scratch, err = sqlite.CreateScratch(ctx, o)
	s.Fold = projections.NewFold(s, database.Projections(opts.Rules), opts.Rules)
	return err
}

func (s *State) beginKept(ctx context.Context, opts Options, o sqlite.ScratchOptions) (err error) {
	k, err := openKept(ctx, opts.Log, opts.Kept, opts.Rules, Keeping{}, slog.New(slog.DiscardHandler), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	_, base := k.at(o.Until)
	if base != nil {
		defer base.Close()
	}
	o.Base = base
	if s.Scratch, err = sqlite.CreateScratch(ctx, o); err != nil {
		return err
	}
	s.Fold = projections.NewFold(s, database.Projections(opts.Rules), opts.Rules)
	if base == nil {
		return nil
	}
	if err := s.Update(ctx, s.Fold.Resume); err != nil {
		return errors.Join(err, s.Scratch.Discard())
	}
	s.onKept = true
	return nil
}

// place returns the path of the scratch file: in Dir, which is created if missing, or else in a directory of its own
// below the system's.
func (s *State) place(dir string) (path string, err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("make the directory for scratch files: %w", err)
		}
		return filepath.Join(dir, "openclawd-past-"+strings.ToLower(rand.Text())+".db"), nil
	}
	if s.temp, err = NewTemp(""); err != nil {
		return "", err
	}
	return filepath.Join(s.temp.Dir(), "state.db"), nil
}

// Resolve finds the event that a point in the log names: a seq, "head", an event id, or a time (RFC 3339, or a
// date, meaning its start in UTC), for which it returns the last event recorded at or before it; 0 if that is
// before the first event. Errors: *PointError.
func Resolve(ctx context.Context, log *sqlite.DB, point string) (seq int64, err error) {
	text := strings.TrimSpace(point)
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil {
		_, err := recordedAt(ctx, log, seq)
		return seq, err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	if text == "head" {
		return head.Seq, nil
	}
	if id, err := eventstore.ParseID(text); err == nil {
		err := log.View(ctx, func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, "SELECT seq FROM events WHERE id = ?", id[:]).Scan(&seq)
		})
		if errors.Is(err, sql.ErrNoRows) {
			return 0, &PointError{Point: point, Head: head.Seq, Why: "no event has this id"}
		}
		return seq, err
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return lastBefore(ctx, log, at.UnixMilli(), head.Seq)
		}
	}
	return 0, &PointError{Point: point, Head: head.Seq, Why: "not a point in the log"}
}

// Before returns the last event recorded at or before a time; 0 if there is none.
func Before(ctx context.Context, log *sqlite.DB, at time.Time) (seq int64, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	return lastBefore(ctx, log, at.UnixMilli(), head.Seq)
}

// RecordedAt returns when an event was recorded; zero for seq 0. Errors: *PointError.
func RecordedAt(ctx context.Context, log *sqlite.DB, seq int64) (time.Time, error) {
	return recordedAt(ctx, log, seq)
}

// recordedAt returns when an event was recorded. Before the first event the time is zero.
func recordedAt(ctx context.Context, log *sqlite.DB, seq int64) (at time.Time, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return at, err
	}
	switch {
	case seq < 0:
		return at, &PointError{Point: strconv.FormatInt(seq, 10), Head: head.Seq, Why: "events are numbered from 1; 0 is the empty log"}
	case seq > head.Seq:
		return at, &PointError{Point: strconv.FormatInt(seq, 10), Head: head.Seq, Why: fmt.Sprintf("the log ends at event %d", head.Seq)}
	case seq == 0:
		return at, nil
	}
	err = log.View(ctx, func(tx *sql.Tx) error {
		at, err = readRecorded(ctx, tx, seq)
		return err
	})
	return at, err
}

func readRecorded(ctx context.Context, tx *sql.Tx, seq int64) (time.Time, error) {
	var ms int64
	err := tx.QueryRowContext(ctx, "SELECT recorded_at FROM events WHERE seq = ?", seq).Scan(&ms)
	return time.UnixMilli(ms), err
}

// lastBefore finds, by binary search, the last event that was recorded at or before a time in ms: recorded times never
// decrease.
func lastBefore(ctx context.Context, log *sqlite.DB, ms, head int64) (seq int64, err error) {
	err = log.View(ctx, func(tx *sql.Tx) error {
		after := head + 1 // the first event recorded later
		for seq+1 < after {
			middle := seq + (after-seq)/2
			at, err := readRecorded(ctx, tx, middle)
			if err != nil {
				return err
			}
			if at.UnixMilli() <= ms {
				seq = middle
			} else {
				after = middle
			}
		}
		return nil
	})
	return seq, err
}

// PointError says why a text names no point in the log.
type PointError struct {
	Point string
	Head  int64
	Why   string
}

func (e *PointError) Error() string { return cmp.Or(e.Point, `""`) + ": " + e.Why }
func (e *PointError) Code() string  { return "no_such_point" }
func (e *PointError) Hint() string {
	return "give a seq, head, an event id, or a time such as 2026-02-20T12:00:00Z"
}
