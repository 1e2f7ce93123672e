// Package move moves a team's log from the file of one node to a log that nodes share, to another one, and back.
package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Steps of a move, in this order.
const (
	StepFetch  = "fetch"  // what the node lacks of the log that it leaves
	StepCheck  = "check"  // the chain of the node's own log
	StepCopy   = "copy"   // to the new shared log
	StepVerify = "verify" // what that has
)

// Options of Run. From and To are URLs of shared logs; "" is the file of the node alone.
type Options struct {
	DB       string // path of the node's database
	From, To string
	Node     string // who holds the leases meanwhile; the same for each attempt, so that it resumes
	Relaxed  bool   // see backend.Options
	DryRun   bool   // look, and change nothing
	Now      func() time.Time
	Tell     func(step string, done, total int64) // may be nil
	// Switch makes the node use To. It is called once To has everything, while no node can write to From. It may be
	// repeated after a kill.
	Switch func(ctx context.Context) error
}

// Report is the result of Run.
type Report struct {
	DB       string          `json:"db"`
	From     string          `json:"from"` // without user and password; file for the node alone
	To       string          `json:"to"`
	DryRun   bool            `json:"dryRun"`
	Events   int64           `json:"events"`
	Redacted int64           `json:"redacted"`
	Head     eventstore.Hash `json:"head"`
	Fetched  int64           `json:"fetched"` // events that the node lacked
	Found    int64           `json:"found"`   // events that To had already, of an attempt that was interrupted
	Copied   int64           `json:"copied"`
	Records  int64           `json:"records"` // of To
	Doubts   []string        `json:"doubts"`  // why it is not known that To survives a power cut
}

// alone stands for no shared log.
const alone = "file"

// TargetError is returned for a shared log that has something else than this log.
type TargetError struct {
	To  string
	Err error
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("%s is not empty and has another log: %v", e.To, e.Err)
}
func (e *TargetError) Unwrap() error { return e.Err }
func (e *TargetError) Code() string  { return "target_not_empty" }
func (e *TargetError) Hint() string {
	return "nothing was changed. Name another stream or schema, or delete what is there if it is not needed"
}

// HeldError is returned for a shared log that another node writes.
type HeldError struct{ Log, Node string }

func (e *HeldError) Error() string { return fmt.Sprintf("node %s writes %s", e.Node, e.Log) }
func (e *HeldError) Code() string  { return "lease_held" }
func (e *HeldError) Hint() string {
	return "stop all nodes, and repeat; a node that was killed gives its lease back within a minute"
}

// Run moves the log. A move that was interrupted, killed too, is resumed by calling it again. Errors are
// *eventstore.LockedError while a server has the database, *TargetError, *HeldError, and those of the logs.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o.Tell == nil {
		o.Tell = func(string, int64, int64) {}
	}
	m := &move{Options: o, report: &Report{DB: o.DB, From: alone, To: alone, DryRun: o.DryRun, Doubts: []string{}}}
	defer func() { err = errors.Join(err, m.close()) }()
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m.report, m.run(ctx)
}

// move is one run.
type move struct {
	Options
	report   *Report
	db       *sqlite.DB
	from, to *side
}

// open opens everything, and creates nothing on a dry run.
func (m *move) open(ctx context.Context) (err error) {
	if m.from, err = connect(ctx, m.From, backend.Options{Field: "cluster.log", Relaxed: true, Existing: true}); err != nil {
		return err
	}
	if m.to, err = connect(ctx, m.To, backend.Options{Field: "--to", Relaxed: m.Relaxed, Existing: m.DryRun}); err != nil {
		return err
	}
	m.report.From, m.report.To = m.from.String(), m.to.String()
	if m.report.From == m.report.To && m.to.log != nil {
		return &eventstore.InvalidError{Field: "--to", Value: m.report.To, HintText: "the log is there already; name where it is to go"}
	}
	if m.to.log != nil && m.to.log.Doubt != "" {
		m.report.Doubts = append(m.report.Doubts, m.to.log.Doubt)
	}
	if m.DryRun {
		m.db, err = database.OpenToRead(ctx, m.DB, m.Now)
	} else {
		m.db, err = m.openToWrite(ctx)
	}
	if err != nil || m.From != "" || m.To != "" {
		return err
	}
	copied, err := m.db.IsCopy(ctx)
	if err == nil && !copied {
		err = &eventstore.InvalidError{Field: "--to", Value: alone, HintText: "the log is in the file already; name the URL of a shared log"}
	}
	return err
}

// openToWrite opens the database. Where there is a log to get it from, it need not exist.
func (m *move) openToWrite(ctx context.Context) (*sqlite.DB, error) {
	opts := sqlite.Options{Path: m.DB, Owner: "store move", Now: m.Now, Payloads: database.Payloads(m.DB), Alone: true}
	if m.from.log != nil {
		opts.Shared = m.from.log
	} else if _, err := os.Stat(m.DB); err != nil {
		return nil, database.OpenError(m.DB, err)
	}
	db, err := sqlite.Open(ctx, opts)
	return db, database.OpenError(m.DB, err)
}

func (m *move) close() error {
	var errs []error
	if m.db != nil {
		errs = append(errs, m.db.Close())
	}
	for _, s := range []*side{m.from, m.to} {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

func (m *move) run(ctx context.Context) error {
	if m.DryRun {
		return m.look(ctx)
	}
	if err := m.fetch(ctx); err != nil {
		return err
	}
	if err := m.check(ctx); err != nil {
		return err
	}
	if err := m.copy(ctx); err != nil {
		return err
	}
	if err := m.from.leave(ctx); err != nil {
		return err
	}
	if m.To != "" { // before the configuration, so that no server appends to the file alone
		if err := m.db.SetCopy(ctx, true); err != nil {
			return err
		}
	}
	if m.Switch != nil {
		if err := m.Switch(ctx); err != nil {
			return err
		}
	}
	if m.To == "" {
		return m.db.SetCopy(ctx, false)
	}
	return nil
}

// look finds out what Run would do.
func (m *move) look(ctx context.Context) error {
	if err := m.check(ctx); err != nil {
		return err
	}
	if m.from.log != nil {
		head, err := m.from.log.Head(ctx)
		if err != nil {
			return err
		}
		m.report.Fetched = max(head.Seq-m.report.Events, 0)
	}
	if m.to.log == nil {
		if m.To != "" {
			m.report.Copied = m.report.Events + m.report.Fetched
		}
		return nil
	}
	head, err := m.to.log.Head(ctx)
	if err != nil {
		return err
	}
	m.report.Found, m.report.Records = head.Seq, head.Number
	m.report.Copied = m.report.Events + m.report.Fetched - head.Seq
	if head.Seq > m.report.Events+m.report.Fetched {
		return &TargetError{m.to.String(), &shared.AheadError{Local: head.Seq, Shared: m.report.Events}}
	}
	if head.Seq == 0 || head.Seq > m.report.Events {
		return nil
	}
	e, err := m.db.Event(ctx, head.Seq)
	if err == nil && e.Hash != head.Hash {
		err = &TargetError{m.to.String(), &shared.DivergedError{Seq: head.Seq, Local: e.Hash, Shared: head.Hash}}
	}
	return err
}

// fetch takes the lease of the log that is left, so that no node writes to it, and brings this node to its end.
func (m *move) fetch(ctx context.Context) error {
	if m.from.log == nil {
		return nil
	}
	before, err := m.db.Head(ctx)
	if err != nil {
		return err
	}
	if err := m.from.hold(ctx, m.Node); err != nil {
		return err
	}
	m.Tell(StepFetch, before.Seq, m.from.lease.Head.Seq)
	if err := m.db.Lead(ctx, m.from.lease); err != nil {
		return fmt.Errorf("%s: %w", m.from, err)
	}
	m.report.Fetched = m.from.lease.Head.Seq - before.Seq
	return nil
}

// check verifies the node's own log.
func (m *move) check(ctx context.Context) error {
	proof, err := m.db.Verify(ctx, false, func(done, total int64) { m.Tell(StepCheck, done, total) })
	if err != nil {
		return err
	}
	m.report.Events, m.report.Redacted, m.report.Head = proof.Events, proof.Redacted, proof.Head
	return nil
}

// copy fills the new log, and verifies what it has.
func (m *move) copy(ctx context.Context) error {
	if m.to.log == nil {
		return nil
	}
	if err := m.to.hold(ctx, m.Node); err != nil {
		return err
	}
	m.report.Found = m.to.lease.Head.Seq
	head, err := shared.Fill(ctx, &reading{m.db, m}, m.to.log, m.to.lease)
	switch {
	case errors.As(err, new(*shared.AheadError)), errors.As(err, new(*shared.DivergedError)):
		return errors.Join(&TargetError{m.to.String(), err}, m.to.release(ctx))
	case err != nil:
		return fmt.Errorf("%s: %w", m.to, err)
	}
	m.report.Copied, m.report.Records = head.Seq-m.report.Found, head.Number
	if err := m.verify(ctx, head); err != nil {
		return fmt.Errorf("%s: %w", m.to, err)
	}
	return nil
}

// reading is the node's log as Fill reads it; it tells how far that is.
type reading struct {
	*sqlite.DB
	m *move
}

func (r *reading) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	r.m.Tell(StepCopy, after, r.m.report.Events)
	return r.DB.Read(ctx, after, limit)
}

// page is how many records are read at once.
const page = 64

// verify reads a log from its beginning to a head, and compares it with that of the node.
func (m *move) verify(ctx context.Context, head shared.Head) error {
	var at shared.Head
	blank := int64(0)
	for at.Number < head.Number {
		records, err := m.to.log.Read(ctx, at.Number, page)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return &shared.UnsoundError{Number: at.Number + 1, Detail: "it was stored and is missing"}
		}
		for i := range records {
			r := &records[i]
			if r.Number != at.Number+1 || r.First != at.Seq+1 || r.Before != at.Hash {
				return &shared.UnsoundError{Number: r.Number, Detail: "it does not follow the one before"}
			}
			n, err := blanks(r)
			if err != nil {
				return err
			}
			blank += n
			at = r.Head()
		}
		m.Tell(StepVerify, at.Seq, head.Seq)
	}
	switch {
	case at.Seq != m.report.Events || at.Hash != m.report.Head:
		return &shared.DivergedError{Seq: at.Seq, Local: m.report.Head, Shared: at.Hash}
	case blank != m.report.Redacted:
		return &shared.UnsoundError{Number: at.Number, Detail: fmt.Sprintf("%d events up to it have no payload, of the node %d", blank, m.report.Redacted)}
	}
	return nil
}

// blanks checks a record, and counts its events without a payload.
func blanks(r *shared.Record) (n int64, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	events, _, err := r.Decode()
	for i := range events {
		if events[i].Redacted() {
			n++
		}
	}
	return n, err
}

// side is one of the logs.
type side struct {
	log   *backend.Log // nil if it is the file, or does not exist yet
	shown string
	lease shared.Lease
	ends  context.CancelFunc // of holding; nil if it is not held
	ended chan struct{}
}

func connect(ctx context.Context, url string, o backend.Options) (*side, error) {
	s := &side{shown: alone}
	if url == "" {
		return s, nil
	}
	address, err := backend.Parse(o.Field, url)
	if err != nil {
		return nil, err
	}
	s.shown = address.String()
	s.log, err = backend.Open(ctx, url, o)
	if errors.Is(err, eventstore.ErrNotFound) && o.Field == "--to" {
		return s, nil // a dry run creates none
	}
	return s, err
}

func (s *side) String() string { return s.shown }

// Leases of a move end soon after it was killed.
const (
	ttl   = 30 * time.Second
	renew = 5 * time.Second
)

// hold takes the lease and renews it until release or leave.
func (s *side) hold(ctx context.Context, node string) (err error) {
	s.lease, err = s.log.Acquire(ctx, node, ttl)
	held := new(shared.HeldError)
	if errors.As(err, &held) && held.Node == nowhere {
		s.lease, err = s.log.Acquire(ctx, nowhere, ttl)
	}
	switch {
	case errors.As(err, &held):
		return &HeldError{s.String(), held.Node}
	case err != nil:
		return fmt.Errorf("%s: %w", s, err)
	}
	ctx, s.ends = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		for wait.For(ctx, renew) == nil {
			_ = s.log.Renew(ctx, s.lease, ttl) // the fence is the epoch; the lease only keeps others from trying
		}
	}()
	return nil
}

func (s *side) unhold() {
	if s.ends != nil {
		s.ends()
		<-s.ended
		s.ends = nil
	}
}

// release gives the lease back, to the node that comes next.
func (s *side) release(ctx context.Context) error {
	if s.ends == nil {
		return nil
	}
	s.unhold()
	return s.log.Release(ctx, s.lease)
}

// A log that was left is held in a name that no node has: only a move may write to it, from whatever machine.
const (
	forever = 50 * 365 * 24 * time.Hour
	nowhere = "store move, which has left"
)

// leave keeps the lease for good, so that a node which was not told of the move does not write to the log any more.
func (s *side) leave(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	s.unhold()
	if err := s.log.HandOver(ctx, s.lease, nowhere, forever); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// closing is how long giving a lease back may take.
const closing = 5 * time.Second

func (s *side) close() error {
	if s == nil || s.log == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	return errors.Join(s.release(ctx), s.log.Close())
}
