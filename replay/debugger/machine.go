package debugger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/journal"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// Options configures New. Log and Rules are required.
type Options struct {
	Log    *sqlite.DB // only read; may be in use
	Dir    string     // for scratch files; "": the system's temporary directory
	Rules  coordination.Rules
	Logger *slog.Logger

	Keep int64 // steps that can be undone without rebuilding tables
	Lead int64 // steps before a jump's target that are journaled, so that they can be undone
}

// Defaults of Options.
const (
	DefaultKeep = 2_000
	DefaultLead = 1_000
)

// Ends of the log.
var (
	ErrStart = errors.New("start of the log")
	ErrEnd   = errors.New("end of the log")
)

// Step is one event with its causes, its effects and the rows that it changed. Before the first event Seq is 0.
type Step struct {
	Seq      int64
	Head     int64 // head of the log
	Event    *eventstore.Event
	Trouble  string // why the event counts as an error, see Trouble
	Wrong    bool
	Role     coordination.Role // as indexed
	Category coordination.Category
	Causes   []Link // direct cause first, first cause last
	Effects  []Link
	Changes  []compare.Change
}

// Machine holds the tables of a log as of one of its events. A step either way costs what that event changed,
// whatever the length of the log. It must be used by one goroutine at a time.
type Machine struct {
	opts   Options
	defs   []projections.Definition
	track  *track
	behind *prebuild // nil: nothing is prebuilt
}

// New returns a machine without a position; call Goto first.
func New(opts Options) *Machine {
	opts.Keep, opts.Lead = cmp.Or(opts.Keep, DefaultKeep), cmp.Or(opts.Lead, DefaultLead)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Machine{opts: opts, defs: database.Projections(opts.Rules)}
}

// On returns a machine that stands at the event of a state that can be written, which it closes. Nothing before that event can be stepped back
// to without building tables.
func On(ctx context.Context, opts Options, state *asof.State) (*Machine, error) {
	m := New(opts)
	if err := state.Update(ctx, func(tx eventstore.Tx) error { return journal.Install(tx, m.defs) }); err != nil {
		return nil, errors.Join(err, state.Close())
	}
	m.track = &track{state: state, floor: state.Until()}
	return m, nil
}

// At returns the seq of the current event: its changes are in the tables.
func (m *Machine) At() int64 {
	if m.track == nil {
		return 0
	}
	return m.track.at()
}

// Stands reports whether the machine is at an event: it is not before the first Goto, nor after one that has failed.
func (m *Machine) Stands() bool { return m.track != nil }

// State returns the current tables; valid until the next call of another method.
func (m *Machine) State() *asof.State { return m.track.state }

// Forward steps to the next event. At the end of the log it returns ErrEnd.
func (m *Machine) Forward(ctx context.Context) error {
	head, err := m.opts.Log.Head(ctx)
	if err != nil {
		return err
	}
	if m.At() >= head.Seq {
		return ErrEnd
	}
	return m.Goto(ctx, m.At()+1, nil)
}

// Back undoes the newest step. At the start of the log it returns ErrStart. Where the journal ends it waits for the
// tables that were prebuilt for earlier events; tell, which may be nil, receives their progress.
func (m *Machine) Back(ctx context.Context, tell func(done, total int64)) error {
	if m.At() == 0 {
		return ErrStart
	}
	return m.Goto(ctx, m.At()-1, tell)
}

// Goto goes to an event: by steps if it is near, else by building new tables, while the old ones stay. After a
// cancelled Goto the machine stands at some event and can go on; after any other error of the tables only Close is
// allowed. A seq that does not exist is an *asof.PointError; 0 is before the first event. tell may be nil.
func (m *Machine) Goto(ctx context.Context, seq int64, tell func(done, total int64)) error {
	head, err := m.opts.Log.Head(ctx)
	switch {
	case err != nil:
		return err
	case seq < 0 || seq > head.Seq:
		return &asof.PointError{Point: fmt.Sprint(seq), Head: head.Seq, Why: fmt.Sprintf("the log has the events 1 to %d", head.Seq)}
	}
	switch {
	case m.track != nil && m.track.shows(seq) && seq <= m.At():
		err = m.track.rewind(ctx, seq)
	case m.track != nil && seq > m.At() && m.track.near(seq, m.opts.Keep):
		return m.advance(ctx, seq, tell)
	default:
		err = m.jump(ctx, seq, tell)
	}
	if err == nil {
		m.prepare()
	}
	return err
}

// Close removes the files.
func (m *Machine) Close() error {
	var errs []error
	if m.behind != nil {
		errs = append(errs, m.behind.drop())
	}
	if m.track != nil {
		errs = append(errs, m.track.state.Close())
	}
	m.behind, m.track = nil, nil
	return errors.Join(errs...)
}

// Show describes the current event.
func (m *Machine) Show(ctx context.Context) (*Step, error) {
	head, err := m.opts.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	s := &Step{Seq: m.At(), Head: head.Seq}
	if s.Seq == 0 {
		return s, nil
	}
	e, err := m.opts.Log.Event(ctx, s.Seq)
	if err != nil {
		return nil, err
	}
	s.Event = &e
	s.Trouble, s.Wrong = Trouble(&e)
	related := relations{m.opts.Log}
	if s.Causes, err = related.causes(ctx, &e); err != nil {
		return nil, err
	}
	if s.Effects, err = related.effects(ctx, &e); err != nil {
		return nil, err
	}
	err = m.track.state.Update(ctx, func(tx eventstore.Tx) (err error) {
		if s.Changes, err = journal.Changes(tx, s.Seq); err != nil {
			return err
		}
		s.Role, s.Category, err = index.Kind(tx, s.Seq)
		return err
	})
	return s, err
}

// advance steps forward to seq, and drops the oldest steps of the journal.
func (m *Machine) advance(ctx context.Context, seq int64, tell func(done, total int64)) error {
	if err := m.track.forward(ctx, m.opts.Log, seq, tell); err != nil {
		return err
	}
	return m.track.forget(ctx, m.opts.Keep)
}

// jump switches to prebuilt tables for seq, or builds them.
func (m *Machine) jump(ctx context.Context, seq int64, tell func(done, total int64)) error {
	next, err := m.takePrebuilt(ctx, seq, tell)
	if err == nil && next == nil {
		next, err = m.build(ctx, seq, tell)
	}
	if err != nil {
		return err
	}
	old := m.track
	m.track = next
	if old == nil {
		return nil
	}
	return old.state.Close()
}

// build builds tables that can be stepped back from seq.
func (m *Machine) build(ctx context.Context, seq int64, tell func(done, total int64)) (*track, error) {
	base := max(0, seq-1-m.opts.Lead)
	state, err := asof.Open(ctx, asof.Options{Log: m.opts.Log, Dir: m.opts.Dir, Rules: m.opts.Rules, Logger: m.opts.Logger, Kept: asof.Dir(m.opts.Log.Path())}, base,
		func(done, _ int64) {
			if tell != nil {
				tell(done, seq)
			}
		})
	if err != nil {
		return nil, err
	}
	t := &track{state: state, floor: base}
	err = state.Update(ctx, func(tx eventstore.Tx) error { return journal.Install(tx, m.defs) })
	if err == nil {
		err = t.forward(ctx, m.opts.Log, seq, nil)
	}
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return t, nil
}

// prebuild is a track that is built in the background up to an event, so that it is ready when it is stepped back to.
type prebuild struct {
	to     int64
	cancel context.CancelFunc
	done   chan struct{} // closed when track or err is set
	tell   progress
	track  *track
	err    error
}

// prepare starts to prebuild the tables of what lies before the journal when the position nears its start.
func (m *Machine) prepare() {
	t := m.track
	if t.floor == 0 || m.behind != nil && m.behind.to == t.floor || t.at()-t.floor > m.opts.Lead/4 {
		return
	}
	if m.behind != nil {
		if err := m.behind.drop(); err != nil {
			m.opts.Logger.Warn("cannot remove a scratch file", "err", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &prebuild{to: t.floor, cancel: cancel, done: make(chan struct{})}
	m.behind = b
	go func() {
		defer close(b.done)
		b.track, b.err = m.build(ctx, b.to, b.tell.set)
	}()
}

// takePrebuilt waits for the prebuilt track and returns it if seq lies near its end; nil: there is no usable one.
func (m *Machine) takePrebuilt(ctx context.Context, seq int64, tell func(done, total int64)) (*track, error) {
	b := m.behind
	if b == nil {
		return nil, nil
	}
	if seq > b.to || seq < b.to-m.opts.Lead {
		m.behind = nil
		return nil, b.drop()
	}
	if err := b.wait(ctx, tell); err != nil {
		return nil, err
	}
	m.behind = nil
	if b.err != nil {
		return nil, b.err
	}
	if !b.track.shows(seq) {
		return nil, b.track.state.Close()
	}
	return b.track, b.track.rewind(ctx, seq)
}

// drop cancels building and removes the file.
func (b *prebuild) drop() error {
	b.cancel()
	<-b.done
	if b.track == nil {
		return nil
	}
	return b.track.state.Close()
}
