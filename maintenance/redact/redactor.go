package redact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// Archives hold payloads of old events.
type Archives interface {
	Forget(ctx context.Context, seqs []int64) ([]archive.Manifest, error)
	Strays() ([]string, error)
}

// Options configures New. Log, Rebuild, Lines, NewID, Now and Getenv are required; other parts may be nil if they do
// not exist.
type Options struct {
	Log      *sqlite.DB
	StateDir string // of OpenClaw; its other files are searched for the texts and reported. "" for none
	Rebuild  func(ctx context.Context, tell func(done, total int64)) (names []string, err error)
	Search   func(ctx context.Context) error               // rebuilds the search file
	Past     func(ctx context.Context, seqs []int64) error // drops snapshots and kept states of these events
	Archives Archives
	Lines    func(ctx context.Context, o ndjson.BlankOptions) (ndjson.BlankReport, error)
	// Mirrored waits until the coordination log has the lines of all events up to seq, so that no line with an old
	// payload is written afterwards.
	Mirrored func(ctx context.Context, seq int64) error
	Files    func(ctx context.Context) (written int, err error)   // rewrites task files
	Stored   Stored                                               // files of messages beside the log
	CallOff  func(ctx context.Context, effectID, by string) error // cancels open work, also while it is being done
	Copies   func() ([]string, error)                             // paths of backups, and of copies made before migrations
	Free     func(path string) (bytes int64, known bool)          // of the volume of a path; nil: not checked
	Alone    bool                                                 // no server runs: the coordination log has no writer
	Getenv   func(string) string
	NewID    func() string
	Now      func() time.Time
	Logger   *slog.Logger
}

// Redactor removes payloads from a log.
type Redactor struct {
	o    Options
	wake chan struct{} // holds a token while something may be pending
	busy sync.Mutex    // held by Finish; guards the following fields

	spaceless []int64                   // events removed from everything but the file's free space; nil: none
	soFar     coordination.LogForgotten // by which redactions

	mu       sync.Mutex
	progress redaction.Progress
	under    map[string]*search // by redaction, until this process has finished it
}

// New returns a Redactor. Call Finish or Run to resume what is pending.
func New(o Options) *Redactor {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Redactor{o: o, wake: make(chan struct{}, 1), under: map[string]*search{}}
}

// Redact searches for what an order describes, and blanks it in one transaction with the log.redacted that records it.
// Work whose request is blanked is cancelled in the same transaction. Finish, or Run, does the rest.
func (r *Redactor) Redact(ctx context.Context, o *redaction.Order) (id string, plan *redaction.Plan, err error) {
	s, err := r.search(ctx, o)
	if err != nil {
		return "", nil, err
	}
	if len(s.matches) == 0 {
		return "", nil, nothingGoes(s)
	}
	if err := r.checkSpace(); err != nil {
		return "", nil, err
	}
	kept, err := r.remaining(ctx, s.texts, false)
	if err != nil {
		return "", nil, err
	}
	if err := r.stopRunning(ctx, s.seqs(), o.By); err != nil {
		return "", nil, err
	}
	if s.texts != nil { // an unfinished line of a killed mirror has no id by which it could be found later
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
	r.signal()
	return id, plan, nil
}

func nothingGoes(s *search) error {
	e := &redaction.Refusal{Reason: CodeProtected, Field: "text", Text: "Only events that cannot be redacted contain that text", HintText: "see refused in the answer of a dry run"}
	for _, f := range s.refused {
		e.Text += fmt.Sprintf("; event %d (%s): %s", f.Seq, f.Type, f.Why)
		break
	}
	return e
}

// blank is the transaction. version is the current version of the redaction's stream.
func (r *Redactor) blank(ctx context.Context, id string, o *redaction.Order, s *search, version int64) error {
	now := r.o.Now().UnixMilli()
	_, err := r.o.Log.RedactBy(ctx, func(tx eventstore.Tx) (seqs []int64, tell []eventstore.StreamAppend, err error) {
		if err := s.readNew(tx); err != nil {
			return nil, nil, err
		}
		if err := s.check(); err != nil {
			return nil, nil, err
		}
		seqs = s.seqs()
		a := eventstore.StreamAppend{Stream: redactions.Streams + id, Expect: eventstore.Exactly(version)}
		err = a.Add(eventstore.NewEvent{Type: coordination.TypeLogRedacted, Actor: eventstore.ActorHuman}, coordination.LogRedacted{
			Context: coordination.Context{EventRole: coordination.RoleObservability}, RedactionID: id, Seqs: seqs, Reason: o.Reason, By: o.By}, now)
		if err != nil {
			return nil, nil, err
		}
		if tell, err = cancelWork(tx, seqs, o.By, now); err != nil {
			return nil, nil, err
		}
		return seqs, append(tell, a), nil
	})
	return err
}

// Progress returns the progress of a redaction that this process finishes; ok is false where none is under way.
func (r *Redactor) Progress(id string) (p redaction.Progress, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, r.progress.Step != "" || r.progress.Error != ""
}

func (r *Redactor) updateProgress(change func(*redaction.Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.progress)
}

// Failing says why pending redactions make no progress; "" if they do, or nothing is pending.
func (r *Redactor) Failing() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress.Error
}

// Pending lists the redactions that are not finished.
func (r *Redactor) Pending(ctx context.Context) (list []redactions.Redaction, err error) {
	err = r.o.Log.View(ctx, func(tx *sql.Tx) error {
		list, err = redactions.Read(ctx, tx, "")
		return err
	})
	return slices.DeleteFunc(list, func(x redactions.Redaction) bool { return x.State != redactions.Pending }), err
}

// Redaction returns the state of a redaction.
func (r *Redactor) Redaction(ctx context.Context, id string) (*redactions.Redaction, error) {
	var list []redactions.Redaction
	err := r.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		list, err = redactions.Read(ctx, tx, id)
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

// Run finishes pending redactions, at once and whenever there is a new one, until ctx ends. Failures are logged and
// retried. It may run before it is known whether this node writes a shared log.
func (r *Redactor) Run(ctx context.Context) error {
	if r.o.Log.IsShared() {
		var watching sync.WaitGroup
		defer watching.Wait()
		watched, stop := context.WithCancel(ctx)
		defer stop()
		watching.Go(func() { r.watch(watched) })
	}
	for failures := 0; ; {
		err := r.Finish(ctx, nil)
		if errors.Is(err, eventstore.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		again := time.Duration(0)
		if failures++; err != nil {
			again = retries.After(failures)
			r.o.Logger.Error("cannot remove redacted texts everywhere yet; will retry", "err", err, "retry_in", again)
		} else {
			failures = 0
		}
		wait.Woken(ctx, r.wake, again)
	}
}

// retries are the pauses before a failed step is retried.
var retries = backoff.Backoff{First: time.Second, Most: time.Minute}
