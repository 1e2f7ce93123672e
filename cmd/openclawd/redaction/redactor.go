package redaction

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
)

// Archives are where payloads of old events lie.
type Archives interface {
	Forget(ctx context.Context, seqs []int64) ([]archive.Manifest, error)
	Strays() ([]string, error)
}

// Options of New. Log, Rebuild, Lines, NewID, Now and Getenv are required; what is nil otherwise is not there.
type Options struct {
	Log      *sqlite.DB
	StateDir string // of OpenClaw; its files are looked through for what holds the texts and is not ours. "" is none
	Rebuild  func(ctx context.Context, tell func(done, total int64)) (names []string, err error)
	Search   func(ctx context.Context) error // has the search file begun anew
	Past     func(ctx context.Context) error // gives up what is kept of the past
	Archives Archives
	Lines    func(ctx context.Context, o ndjson.BlankOptions) (ndjson.BlankReport, error)
	// Mirrored waits until the coordination log has the lines of all events up to seq, so that none is written after that with a payload of before.
	Mirrored func(ctx context.Context, seq int64) error
	Files    func(ctx context.Context) (written int, err error)   // writes the files of tasks anew
	CallOff  func(ctx context.Context, effectID, by string) error // ends work that is open, also while somebody is at it
	Copies   func() ([]string, error)                             // paths of backups, and of copies that were made before migrations
	Free     func(path string) (bytes int64, known bool)          // on the disk of a path; nil: it is not looked at
	Alone    bool                                                 // no server runs: nobody writes the coordination log
	Getenv   func(string) string
	NewID    func() string
	Now      func() time.Time
	Logger   *slog.Logger
}

// Redactor has a log forget payloads. It implements monitor.Redactions.
type Redactor struct {
	o    Options
	wake chan struct{} // holds one token while there may be something pending
	busy sync.Mutex    // is held by Finish, and guards what follows

	spaceless []int64                   // events that everything but the file's free space has forgotten; nil: none
	soFar     coordination.LogForgotten // what has

	mu       sync.Mutex
	progress monitor.RedactionProgress
	under    map[string]*search // what was looked for, by redaction, as long as this process has not finished it
}

// New returns a Redactor that has done nothing yet.
func New(o Options) *Redactor {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Redactor{o: o, wake: make(chan struct{}, 1), under: map[string]*search{}}
}

// Redact implements monitor.Redactions: it looks for what an order means, and blanks it in one transaction with the log.redacted that tells of it.
// Work of which nothing is left is called off in there too. Finish, or Run, does the rest.
func (r *Redactor) Redact(ctx context.Context, o *monitor.RedactionOrder) (id string, plan *monitor.RedactionPlan, err error) {
	s, err := r.search(ctx, o)
	if err != nil {
		return "", nil, err
	}
	if len(s.matches) == 0 {
		return "", nil, nothingGoes(s)
	}
	if err := r.room(); err != nil {
		return "", nil, err
	}
	kept, err := r.kept(ctx, s.texts, false)
	if err != nil {
		return "", nil, err
	}
	if err := r.halt(ctx, s.seqs(), o.By); err != nil {
		return "", nil, err
	}
	if s.texts != nil { // an unfinished line of a mirror that was killed has no id by which it could be found later
		if _, err := r.o.Lines(ctx, ndjson.BlankOptions{Log: r.o.Log, Holds: s.texts.inRaw, Finished: r.o.Alone}); err != nil {
			return "", nil, err
		}
	}
	id = r.o.NewID()
	if err := r.blank(ctx, id, o, s, 0); err != nil {
		return "", nil, err
	}
	r.mu.Lock()
	r.under[id] = s
	r.mu.Unlock()
	plan = s.plan()
	plan.Kept = kept
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return id, plan, nil
}

func nothingGoes(s *search) error {
	e := &monitor.RedactionError{Reason: CodeProtected, Field: "text", Text: "Only events hold that text that are not redacted", Mend: "see refused of a dry run"}
	for _, f := range s.refused {
		e.Text += fmt.Sprintf("; event %d (%s): %s", f.Seq, f.Type, f.Why)
		break
	}
	return e
}

// blank is the transaction. version is that of the redaction's stream.
func (r *Redactor) blank(ctx context.Context, id string, o *monitor.RedactionOrder, s *search, version int64) error {
	now := r.o.Now().UnixMilli()
	_, err := r.o.Log.RedactBy(ctx, func(tx eventstore.Tx) (seqs []int64, tell []eventstore.StreamAppend, err error) {
		if err := s.lookIn(tx); err != nil {
			return nil, nil, err
		}
		if err := s.check(); err != nil {
			return nil, nil, err
		}
		seqs = s.seqs()
		data, err := json.Marshal(coordination.LogRedacted{Context: coordination.Context{EventRole: coordination.RoleObservability},
			RedactionID: id, Seqs: seqs, Reason: o.Reason, By: o.By})
		if err != nil {
			return nil, nil, err
		}
		if tell, err = calledOff(tx, seqs, o.By, now); err != nil {
			return nil, nil, err
		}
		return seqs, append(tell, eventstore.StreamAppend{Stream: monitor.RedactionStreams + id, Expect: eventstore.Exactly(version),
			Events: []eventstore.NewEvent{eventstore.NewEvent{Type: coordination.TypeLogRedacted, Actor: eventstore.ActorHuman, Data: data}.WithTS(now)}}), nil
	})
	return err
}

// Progress implements monitor.Redactions.
func (r *Redactor) Progress(id string) (p monitor.RedactionProgress, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, r.progress.Step != "" || r.progress.Error != ""
}

func (r *Redactor) note(change func(*monitor.RedactionProgress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.progress)
}

// Failing says why what is pending does not get on; "" where it does, or nothing is.
func (r *Redactor) Failing() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress.Error
}

// Pending lists the redactions that are not finished.
func (r *Redactor) Pending(ctx context.Context) (list []monitor.Redaction, err error) {
	err = r.o.Log.View(ctx, func(tx *sql.Tx) error {
		list, err = monitor.ReadRedactions(ctx, tx, "")
		return err
	})
	return slices.DeleteFunc(list, func(x monitor.Redaction) bool { return x.State != monitor.RedactionPending }), err
}

// Redaction is one of the log's, as it stands.
func (r *Redactor) Redaction(ctx context.Context, id string) (*monitor.Redaction, error) {
	var list []monitor.Redaction
	err := r.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = monitor.ReadRedactions(ctx, tx, id)
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("redaction %s: %w", id, eventstore.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// Run finishes what is pending, at once and whenever there is more, until ctx ends. What goes wrong is logged and tried again.
func (r *Redactor) Run(ctx context.Context) error {
	for pause := firstRetry; ; {
		err := r.Finish(ctx, nil)
		if errors.Is(err, eventstore.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		var again <-chan time.Time
		if err != nil {
			r.o.Logger.Error("what was redacted is not forgotten everywhere yet; it is tried again", "err", err, "again_in", pause)
			timer := time.NewTimer(pause)
			defer timer.Stop()
			again, pause = timer.C, min(2*pause, lastRetry)
		} else {
			pause = firstRetry
		}
		select {
		case <-r.wake:
		case <-again:
		case <-ctx.Done():
			return nil
		}
	}
}

// How long what failed waits before it is tried again.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)
