package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pronto-lab/openclawd/cmd/openclawd/database"
	"github.com/pronto-lab/openclawd/cmd/openclawd/past"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
	"github.com/pronto-lab/openclawd/projections/journal"
)

// Options of New. Log and Rules are required.
type Options struct {
	Log    *sqlite.DB // read; may be in use
	Dir    string     // for scratch files; "": the system's temporary directory
	Rules  coordination.Rules
	Logger *slog.Logger

	Keep int64 // steps that can be taken back at once
	Lead int64 // steps before a place that is gone to, which can be taken back from there
}

// Defaults of Options.
const (
	DefaultKeep = 2_000
	DefaultLead = 1_000
)

// Ends of the log.
var (
	ErrStart = errors.New("this is the beginning of the log")
	ErrEnd   = errors.New("this is the end of the log")
)

// Step is one event, with what it came from and led to, and the rows that it changed. Before the first event Seq is 0.
type Step struct {
	Seq     int64
	Head    int64 // of the log
	Event   *eventstore.Event
	Trouble string // why the event is an error; with IsTrouble
	Wrong   bool
	Causes  []Link // its direct cause first, the first cause last
	Effects []Link
	Changes []compare.Change
}

// Machine has the tables of a log as they stand at one of its events. A step either way costs what that event changed, however long the log is. It is
// used by one goroutine at a time.
type Machine struct {
	opts   Options
	defs   []projections.Definition
	track  *track
	behind *earlier // nil: nothing is being made
}

// New returns a machine that stands nowhere: Goto is to follow.
func New(opts Options) *Machine {
	opts.Keep, opts.Lead = cmp.Or(opts.Keep, DefaultKeep), cmp.Or(opts.Lead, DefaultLead)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Machine{opts: opts, defs: database.Projections(opts.Rules)}
}

// At is the seq of the event that the machine stands at: its changes are in the tables.
func (m *Machine) At() int64 {
	if m.track == nil {
		return 0
	}
	return m.track.at()
}

// State is the tables as they stand; valid until the next call of another method.
func (m *Machine) State() *past.State { return m.track.state }

// Forward steps to the next event. At the end of the log it fails with ErrEnd.
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

// Back takes the newest step back. At the beginning of the log it fails with ErrStart. Where what was journaled ends, tables that were made of the log
// meanwhile take the place of the present ones; Back waits for them, and tell, which may be nil, hears how far they are.
func (m *Machine) Back(ctx context.Context, tell func(done, total int64)) error {
	if m.At() == 0 {
		return ErrStart
	}
	return m.Goto(ctx, m.At()-1, tell)
}

// Goto goes to an event, by steps where that is near, else with tables made anew while the old ones stay. One that is cancelled leaves the machine at some
// event from which it can go on; after any other error of the tables only Close is of use. seq has to be there, else the error is a *past.PointError; 0 is
// before the first event. tell may be nil.
func (m *Machine) Goto(ctx context.Context, seq int64, tell func(done, total int64)) error {
	head, err := m.opts.Log.Head(ctx)
	switch {
	case err != nil:
		return err
	case seq < 0 || seq > head.Seq:
		return &past.PointError{Point: fmt.Sprint(seq), Head: head.Seq, Why: fmt.Sprintf("the log has the events 1 to %d", head.Seq)}
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

// Close gives the files back.
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

// Show tells of the event that the machine stands at.
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
		s.Changes, err = journal.Changes(tx, s.Seq)
		return err
	})
	return s, err
}

// advance steps on to seq, and forgets what was journaled longest ago.
func (m *Machine) advance(ctx context.Context, seq int64, tell func(done, total int64)) error {
	if err := m.track.forward(ctx, m.opts.Log, seq, tell); err != nil {
		return err
	}
	return m.track.forget(ctx, m.opts.Keep)
}

// jump takes tables that were made anew for seq, or makes them.
func (m *Machine) jump(ctx context.Context, seq int64, tell func(done, total int64)) error {
	next, err := m.taken(ctx, seq, tell)
	if err == nil && next == nil {
		next, err = m.lay(ctx, seq, tell)
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

// lay makes tables anew that can be stepped back from seq.
func (m *Machine) lay(ctx context.Context, seq int64, tell func(done, total int64)) (*track, error) {
	base := max(0, seq-1-m.opts.Lead)
	state, err := past.Open(ctx, past.Options{Log: m.opts.Log, Dir: m.opts.Dir, Rules: m.opts.Rules, Logger: m.opts.Logger}, base,
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

// earlier is a track that is being made up to an event, so that it is there when somebody steps back to it.
type earlier struct {
	to     int64
	cancel context.CancelFunc
	done   chan struct{} // closed when track or err is set
	tell   progress
	track  *track
	err    error
}

// prepare begins to make the tables of what lies before the journal when somebody comes near its beginning.
func (m *Machine) prepare() {
	t := m.track
	if t.floor == 0 || m.behind != nil && m.behind.to == t.floor || t.at()-t.floor > m.opts.Lead/4 {
		return
	}
	if m.behind != nil {
		if err := m.behind.drop(); err != nil {
			m.opts.Logger.Warn("a scratch file stays", "err", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &earlier{to: t.floor, cancel: cancel, done: make(chan struct{})}
	m.behind = b
	go func() {
		defer close(b.done)
		b.track, b.err = m.lay(ctx, b.to, b.tell.set)
	}()
}

// taken gives the track that was made in the background, waiting for it, where seq lies near its end; nil: there is none that is of use.
func (m *Machine) taken(ctx context.Context, seq int64, tell func(done, total int64)) (*track, error) {
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

// drop ends what is being made and gives its file back.
func (b *earlier) drop() error {
	b.cancel()
	<-b.done
	if b.track == nil {
		return nil
	}
	return b.track.state.Close()
}
