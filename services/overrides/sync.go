package overrides

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// Name is the name of the file in a state directory.
const Name = "work-session-category-overrides.json"

// Log is the part of the store that is used here.
type Log interface {
	eventstore.Appender
	Head(ctx context.Context) (eventstore.Head, error)
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	StreamVersion(ctx context.Context, stream string) (int64, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Watcher notifies about possible changes of the file at a path.
type Watcher interface {
	Path(path string, changed chan<- struct{})
	Forget(path string, changed chan<- struct{})
}

// Options of New. All are required.
type Options struct {
	Path      string // of the file; need not exist
	Database  string // path of the database
	Agreement string // path of the stored agreement; need not exist
	Log       Log
	Watcher   Watcher
	Now       func() time.Time
	Logger    *slog.Logger
}

// Sync synchronizes the file and the log while Run runs.
type Sync struct {
	Options
	agreed   entries // last common state; nil if not known
	recalled bool    // agreed was loaded
	kept     struct {
		agreed entries
		seq    int64 // newest override event by then
	}
	settled struct {
		known   bool
		exists  bool
		text    []byte
		version int64
	}
	named   map[string]string // invalid entries of the file that were logged
	problem atomic.Pointer[string]
	looked  func() // for tests: called after each comparison
}

// New returns a Sync that has not compared yet.
func New(opts Options) *Sync { return &Sync{Options: opts, looked: func() {}} }

// Problem returns why the file differs from the log, "" while it does not, or soon will not. It is safe for concurrent use.
func (s *Sync) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Run compares the file and the log whenever one of them may have changed, until ctx ends. It returns nil. It is called once.
func (s *Sync) Run(ctx context.Context) error {
	changed, said := make(chan struct{}, 1), make(chan struct{}, 1)
	s.Watcher.Path(s.Path, changed)
	defer s.Watcher.Forget(s.Path, changed)
	var following sync.WaitGroup
	following.Go(func() { s.follow(ctx, said) })
	defer following.Wait()
	for {
		s.Check(ctx)
		s.looked()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-said:
		}
	}
}

// follow wakes Run when the log gets an override event. It costs one query per commit.
func (s *Sync) follow(ctx context.Context, said chan<- struct{}) {
	var head, version int64
	for ctx.Err() == nil {
		var err error
		if head, err = s.Log.Wait(ctx, head+1); err != nil {
			return // ctx has ended; or the log cannot be read, and then Run relies on the watcher
		}
		now, err := s.Log.StreamVersion(ctx, coordination.WorkSessionStream)
		if err != nil || now == version {
			continue
		}
		version = now
		select {
		case said <- struct{}{}:
		default:
		}
	}
}

// Check compares once. An error is logged once and retried at the next comparison. It is for Run, and for callers that need one
// comparison before.
func (s *Sync) Check(ctx context.Context) {
	err := s.reconcile(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, errUnchanged) {
		if err == nil {
			s.problem.Store(nil)
		}
		return
	}
	if text := err.Error(); text != s.Problem() {
		s.Logger.Warn("category overrides: the file and the log differ", "file", s.Path, "err", err)
		s.problem.Store(&text)
	}
}

// errUnchanged reports that nothing has changed since the last comparison.
var errUnchanged = errors.New("nothing has changed")

func (s *Sync) reconcile(ctx context.Context) error {
	f, err := read(s.Path, s.Database)
	if err != nil {
		s.settled.known = false
		return s.spoken(err)
	}
	words, version, err := s.words(ctx)
	if err != nil {
		return err
	}
	if is := &s.settled; is.known && is.exists == f.exists && is.version == version && bytes.Equal(is.text, f.text) {
		return errUnchanged
	}
	if err := s.recall(ctx); err != nil {
		return err
	}
	s.settled.known = false
	if f.exists {
		if f.entries, f.bad, err = parse(f.text); err != nil {
			s.settle(f, version)
			return s.spoken(err)
		}
	}
	if list := edits(f, s.agreed, words, s.Now()); len(list) > 0 {
		if err := s.append(ctx, list, version); err != nil {
			return err
		}
		s.agreed = f.entries // the file's changes are taken: any other difference is a change of the log
		if words, version, err = s.words(ctx); err != nil {
			return err
		}
	}
	want := words.entries()
	for _, bad := range f.bad { // it stays as written
		delete(want, bad.name)
	}
	bad := f.bad
	if !maps.Equal(f.entries, want) {
		if f, err = s.write(f, want); err != nil {
			return s.spoken(err)
		}
	}
	s.agree(ctx, want, words)
	s.settle(f, version)
	return s.badEntries(bad)
}

// settle records the result of a comparison, so that the next one can be skipped.
func (s *Sync) settle(f *file, version int64) {
	s.settled.known, s.settled.exists, s.settled.text, s.settled.version = true, f.exists, f.text, version
}

// words reads the overrides of the log, and the version of their stream. While the tables are behind the log nothing can be compared;
// the health of the projection reports that.
func (s *Sync) words(ctx context.Context) (h latestOverrides, version int64, err error) {
	// The version first: an event between the two reads makes an append conflict, and is read again.
	if version, err = s.Log.StreamVersion(ctx, coordination.WorkSessionStream); err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	var list []conversations.Override
	live := false
	err = s.Log.View(ctx, func(tx *sql.Tx) error {
		tables, err := projections.List(ctx, tx)
		if err != nil {
			return err
		}
		live = slices.ContainsFunc(tables, func(p projections.Status) bool {
			return p.Name == conversations.Name && p.State == projections.Live && p.Lag == 0
		})
		list, err = conversations.Overrides(ctx, tx)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read category overrides: %w", err)
	case !live:
		return nil, 0, errUnchanged
	}
	h = make(latestOverrides, len(list))
	for _, o := range list {
		h[o.Name] = o
	}
	return h, version, nil
}

const atOnce = 256

// append appends the edits as events. After a concurrent append it stops early without a visible error: the new event wakes Run.
func (s *Sync) append(ctx context.Context, list []coordination.WorkSessionCategory, version int64) error {
	for some := range slices.Chunk(list, atOnce) {
		a := eventstore.StreamAppend{Stream: coordination.WorkSessionStream, Expect: eventstore.Exactly(version)}
		for _, said := range some {
			typ := coordination.TypeWorkSessionCategorySet
			if said.Category == "" {
				typ = coordination.TypeWorkSessionCategoryCleared
			}
			if err := a.Add(eventstore.NewEvent{Type: typ, Actor: eventstore.ActorHuman}, said, s.Now().UnixMilli()); err != nil {
				return err
			}
		}
		_, err := s.Log.Append(ctx, a)
		var conflict *eventstore.ConflictError
		switch {
		case errors.As(err, &conflict):
			return errUnchanged
		case err != nil:
			return fmt.Errorf("store the changes of the file: %w", err)
		}
		version += int64(len(a.Events))
	}
	s.Logger.Info("category overrides taken from the file", "file", s.Path, "changes", len(list))
	return nil
}

// write writes the log's overrides to the file, unless both have none.
func (s *Sync) write(f *file, want entries) (*file, error) {
	if !f.exists && len(want) == 0 {
		return f, nil
	}
	text, err := want.render(f.bad)
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%d overrides take %d bytes, more than %d: take some back (DELETE /api/work-sessions/:id/category)", len(want), len(text), maxBytes)
	}
	switch err := f.replace(s.Path, text); {
	case !f.exists && errors.Is(err, fs.ErrNotExist):
		return nil, errUnchanged // there is no state directory yet; the watcher reports when there is
	case err != nil:
		return nil, err
	}
	s.Logger.Debug("category overrides written", "file", s.Path, "entries", len(want))
	return &file{exists: true, text: text}, nil
}

// spoken returns the error to report to an operator.
func (s *Sync) spoken(err error) error {
	if errors.Is(err, errChanged) || errors.Is(err, errUnchanged) {
		return errUnchanged // its change wakes Run
	}
	return fmt.Errorf("%s is not touched: %w; fix it, or move it away to have it written again", Name, err)
}

// badEntries returns an error that lists the invalid entries. Each is logged once.
func (s *Sync) badEntries(list []badEntry) error {
	named := make(map[string]string, len(list))
	var all []string
	for _, bad := range list {
		named[bad.name] = string(bad.text)
		if was, is := s.named[bad.name]; !is || was != string(bad.text) {
			s.Logger.Warn("category overrides: ignoring an invalid entry of the file", "file", s.Path, "work_session", coordination.Shown(bad.name),
				"why", bad.why)
		}
		all = append(all, fmt.Sprintf("%q: %s", coordination.Shown(bad.name), bad.why))
	}
	s.named = named
	if len(all) == 0 {
		return nil
	}
	const shown = 3
	if len(all) > shown {
		all = append(all[:shown], fmt.Sprintf("and %d more", len(all)-shown))
	}
	return fmt.Errorf("%s has invalid entries, which are ignored until you fix or remove them: %s", Name, strings.Join(all, "; "))
}
