package overrides

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
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
	"github.com/pronto-lab/openclawd/projections/conversation"
)

// Name is the file's, in a state directory.
const Name = "work-session-category-overrides.json"

// Log is what Sync needs of the log.
type Log interface {
	eventstore.Appender
	Head(ctx context.Context) (eventstore.Head, error)
	Event(ctx context.Context, seq int64) (eventstore.Event, error)
	StreamVersion(ctx context.Context, stream string) (int64, error)
	Wait(ctx context.Context, seq int64) (int64, error)
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Watcher wakes whoever asked about a path when the file there may have changed.
type Watcher interface {
	Path(path string, changed chan<- struct{})
	Forget(path string, changed chan<- struct{})
}

// Options of New. All are required.
type Options struct {
	Path      string // of the file; need not exist
	Database  string // the path of the log's own file
	Agreement string // the path of the file that remembers what both last agreed on; need not exist
	Log       Log
	Watcher   Watcher
	Now       func() time.Time
	Logger    *slog.Logger
}

// Sync keeps the file and the log the same while Run runs.
type Sync struct {
	Options
	agreed   entries // what the file and the log last agreed on; nil: not known
	recalled bool    // agreed was looked for in its file
	kept     struct {
		agreed entries
		seq    int64 // the newest word by then
	}
	settled struct {
		known   bool
		exists  bool
		text    []byte
		version int64
	}
	named   map[string]string // entries of the file that cannot be understood, and that were told of
	problem atomic.Pointer[string]
	looked  func() // for tests: after each look
}

// New returns a Sync that has not looked yet.
func New(opts Options) *Sync { return &Sync{Options: opts, looked: func() {}} }

// Problem says why the file is not what the log holds, "" while it is, or soon will be. It may be called at any time.
func (s *Sync) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// Run looks at the file and the log whenever one of them may have changed, until ctx ends. It returns nil. It is called once.
func (s *Sync) Run(ctx context.Context) error {
	changed, said := make(chan struct{}, 1), make(chan struct{}, 1)
	s.Watcher.Path(s.Path, changed)
	defer s.Watcher.Forget(s.Path, changed)
	var following sync.WaitGroup
	following.Go(func() { s.follow(ctx, said) })
	defer following.Wait()
	for {
		s.Look(ctx)
		s.looked()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-said:
		}
	}
}

// follow wakes Run when the log says something about a category. It costs one look-up for each commit.
func (s *Sync) follow(ctx context.Context, said chan<- struct{}) {
	var head, version int64
	for ctx.Err() == nil {
		var err error
		if head, err = s.Log.Wait(ctx, head+1); err != nil {
			return // the end; or the log cannot be read, and then Run goes by the watcher's clock
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

// Look compares once. What goes wrong is said once and tried again at the next look. It is for Run, and for who wants one look before that.
func (s *Sync) Look(ctx context.Context) {
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

// errUnchanged means that everything is as it was at the last look.
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
		s.agreed = f.entries // what the file says is taken: from here on it is the log that has changed
		if words, version, err = s.words(ctx); err != nil {
			return err
		}
	}
	want := words.entries()
	for _, bad := range f.bad { // it stays as somebody has written it
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

// settle notes what a look found, so that the next one need not do it all again.
func (s *Sync) settle(f *file, version int64) {
	s.settled.known, s.settled.exists, s.settled.text, s.settled.version = true, f.exists, f.text, version
}

// words reads what the log holds, and the version of the stream that says so. While the tables are behind the log nothing can be compared;
// the health of the projection tells that.
func (s *Sync) words(ctx context.Context) (h held, version int64, err error) {
	// The version first: what is said between the two reads makes an append conflict, and is looked at again.
	if version, err = s.Log.StreamVersion(ctx, coordination.WorkSessionStream); err != nil {
		return nil, 0, fmt.Errorf("read the log: %w", err)
	}
	var list []conversation.Override
	live := false
	err = s.Log.View(ctx, func(tx *sql.Tx) error {
		tables, err := projections.List(ctx, tx)
		if err != nil {
			return err
		}
		live = slices.ContainsFunc(tables, func(p projections.Status) bool {
			return p.Name == conversation.Name && p.State == projections.Live && p.Lag == 0
		})
		list, err = conversation.Overrides(ctx, tx)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("read category overrides: %w", err)
	case !live:
		return nil, 0, errUnchanged
	}
	h = make(held, len(list))
	for _, o := range list {
		h[o.Name] = o
	}
	return h, version, nil
}

// atOnce bounds the events of one append.
const atOnce = 256

// append makes events of edits. If somebody says something meanwhile it ends early, without an error that anybody has to see: what was
// said wakes Run.
func (s *Sync) append(ctx context.Context, list []coordination.WorkSessionCategory, version int64) error {
	for some := range slices.Chunk(list, atOnce) {
		var events []eventstore.NewEvent
		for _, said := range some {
			typ := coordination.TypeWorkSessionCategorySet
			if said.Category == "" {
				typ = coordination.TypeWorkSessionCategoryCleared
			}
			data, err := json.Marshal(said)
			if err != nil {
				return fmt.Errorf("write category event: %w", err)
			}
			events = append(events, eventstore.NewEvent{Type: typ, Actor: eventstore.ActorHuman, Data: data}.WithTS(s.Now().UnixMilli()))
		}
		_, err := s.Log.Append(ctx, eventstore.StreamAppend{Stream: coordination.WorkSessionStream, Expect: eventstore.Exactly(version), Events: events})
		var conflict *eventstore.ConflictError
		switch {
		case errors.As(err, &conflict):
			return errUnchanged
		case err != nil:
			return fmt.Errorf("store what the file says: %w", err)
		}
		version += int64(len(events))
	}
	s.Logger.Info("category overrides taken from the file", "file", s.Path, "changes", len(list))
	return nil
}

// write makes the file say what the log holds, unless both say nothing.
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
		return nil, errUnchanged // there is no state directory yet; the watcher tells when there is one
	case err != nil:
		return nil, err
	}
	s.Logger.Debug("category overrides written", "file", s.Path, "entries", len(want))
	return &file{exists: true, text: text}, nil
}

// spoken is what an operator is told of an error.
func (s *Sync) spoken(err error) error {
	if errors.Is(err, errChanged) || errors.Is(err, errUnchanged) {
		return errUnchanged // its change wakes Run
	}
	return fmt.Errorf("%s is left as it is: %w; mend it, or move it away to have it written anew", Name, err)
}

// badEntries says which entries of the file cannot be understood. Each is logged once.
func (s *Sync) badEntries(list []badEntry) error {
	named := make(map[string]string, len(list))
	var all []string
	for _, bad := range list {
		named[bad.name] = string(bad.text)
		if was, is := s.named[bad.name]; !is || was != string(bad.text) {
			s.Logger.Warn("category overrides: an entry of the file is left as it is and does not count", "file", s.Path, "workSession", clip(bad.name),
				"why", bad.why)
		}
		all = append(all, fmt.Sprintf("%q: %s", clip(bad.name), bad.why))
	}
	s.named = named
	if len(all) == 0 {
		return nil
	}
	const shown = 3
	if len(all) > shown {
		all = append(all[:shown], fmt.Sprintf("and %d more", len(all)-shown))
	}
	return fmt.Errorf("%s has entries that do not count and are left as they are until you fix or remove them: %s", Name, strings.Join(all, "; "))
}

func clip(name string) string {
	const shown = 80
	if runes := []rune(name); len(runes) > shown {
		return string(runes[:shown]) + "..."
	}
	return name
}
