package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/internal/backoff"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// sharedWait is how long a batch waits for the shared log by default.
const sharedWait = 5 * time.Second

// share is what the writer knows of the shared log. A node follows it until it leads, and leads until another one does.
// All fields below mu are guarded by it.
type share struct {
	log  shared.Log
	wait time.Duration

	ctx    context.Context // ends when the store is closed
	cancel context.CancelFunc
	going  sync.WaitGroup // what finds out how an append ended

	mu      sync.Mutex
	role    role
	head    shared.Head   // the newest record that is applied here; its epoch and node are those of the writer
	refused error         // why no append is taken now, while it leads; nil: they are
	ended   chan struct{} // closed when what refused says will not pass by itself; of the last Lead
	counts  SharedCounts

	// What the running batch stores; only the writer goroutine uses them.
	events []eventstore.Event
	blank  []int64
	sent   *shared.Record // it was stored in the shared log by the running transaction
}

type role int

const (
	follows role = iota
	leads
	deposed
)

func newShare(opts Options) *share {
	if opts.Shared == nil {
		return nil
	}
	s := &share{log: opts.Shared, wait: opts.SharedWait}
	if s.wait == 0 {
		s.wait = sharedWait
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// stop ends what is under way.
func (s *share) stop() {
	if s != nil {
		s.cancel()
		s.going.Wait()
	}
}

// admits returns why an append cannot be taken; nil if it can.
func (s *share) admits() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.role == follows {
		return &shared.FollowerError{Writer: s.head.Node}
	}
	return s.refused
}

// begin forgets what an earlier batch collected.
func (s *share) begin() {
	if s != nil {
		s.events, s.blank, s.sent = nil, nil, nil
	}
}

// collect adds what one request has stored to the record of the batch.
func (s *share) collect(a *appendRequest, stored []eventstore.Stored) {
	if s == nil {
		return
	}
	for i := range a.events {
		if !stored[i].Duplicate {
			s.events = append(s.events, a.events[i].Event)
		}
	}
	s.blank = append(s.blank, a.blank...)
}

// publish appends what the running transaction stores to the shared log: the last thing before its commit. Until then
// the batch can be undone; from then on it happened, and a commit that fails is made up for.
func (s *share) publish() error {
	if s == nil || len(s.events) == 0 && len(s.blank) == 0 {
		return nil
	}
	s.mu.Lock()
	r := shared.Following(s.head, s.events, s.blank)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, s.wait)
	defer cancel()
	err := s.log.Append(ctx, r)
	s.count(err)
	if err != nil {
		return &publishError{r.Epoch, err}
	}
	s.sent = &r
	return nil
}

// SharedCounts are numbers of appends to the shared log since the start.
type SharedCounts struct {
	Commits   int64 // that were stored
	Conflicts int64 // that were refused, because another record has the place
	Failures  int64 // that it did not take, or whose end was unknown
}

func (s *share) count(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.counts.Commits++
	case errors.As(err, new(*shared.ConflictError)):
		s.counts.Conflicts++
	default:
		s.counts.Failures++
	}
}

// SharedCounts returns what became of this node's appends to the shared log.
func (db *DB) SharedCounts() SharedCounts {
	if db.writer == nil || db.writer.share == nil {
		return SharedCounts{}
	}
	s := db.writer.share
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// publishError is the failure of a batch in the shared log.
type publishError struct {
	epoch int64
	err   error
}

func (e *publishError) Error() string { return e.err.Error() }
func (e *publishError) Unwrap() error { return e.err }

// committed records that a batch is stored here too: the record that was sent, or those that came.
func (s *share) committed(records []shared.Record) {
	if s == nil {
		return
	}
	newest := s.sent
	if len(records) > 0 {
		newest = &records[len(records)-1]
	}
	if newest == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest.Number > s.head.Number {
		s.head = newest.Head()
	}
	s.sent = nil
}

// shareFailed decides what follows from the failure of a batch, and returns the error that its callers get. handled is false
// if the shared log has nothing to do with it.
func (w *writer) shareFailed(err error) (told error, handled bool) {
	s := w.share
	if s == nil {
		return nil, false
	}
	published := new(publishError)
	switch {
	case s.sent != nil:
		// The shared log has it, this file does not: its retry gets the first answer.
		told = &shared.UncertainError{Number: s.sent.Number, Err: w.db.translate("append to", err)}
	case errors.As(err, &published):
		told = published.err
		if conflict := new(shared.ConflictError); errors.As(told, &conflict) {
			switch {
			case conflict.Head.Epoch > published.epoch:
				return s.fence(conflict.Head), true
			case conflict.Head.Number < conflict.Number-1:
				told = &shared.AheadError{Local: w.log.seq, Shared: conflict.Head.Seq}
				s.refuse(told)
				return told, true
			}
			told = &shared.UnavailableError{Err: conflict} // an append whose end was unknown has the place
		}
	default:
		return nil, false
	}
	s.refuse(&shared.UnavailableError{Err: fmt.Errorf("the end of an append is being looked for: %v", told)}) // later ones are not uncertain
	w.findOut()
	return told, true
}

// leadsIn reports whether this node is the writer of an epoch.
func (s *share) leadsIn(epoch int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.role == leads && s.head.Epoch == epoch
}

// fence ends the role of the writer.
func (s *share) fence(by shared.Head) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = &shared.FencedError{Epoch: s.head.Epoch, By: by}
	s.role = deposed
	s.end()
	return s.refused
}

func (s *share) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
	if err != nil && fatalShared(err) {
		s.end()
	}
}

// end tells Led. mu is held.
func (s *share) end() {
	if s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// recoverPauses are those between attempts to read the shared log after a failure.
var recoverPauses = backoff.Backoff{First: 20 * time.Millisecond, Most: time.Second}

// mostLocal is how often a node tries to store what the shared log has before it lets another one write, some 8 s.
const mostLocal = 13

// findOut looks, beside the writer, for what the shared log has behind this node, applies it, and lets appends in again.
// The writer takes none meanwhile, so that there is one at a time. It ends with the epoch.
func (w *writer) findOut() {
	s := w.share
	s.mu.Lock()
	epoch := s.head.Epoch
	s.mu.Unlock()
	s.going.Go(func() {
		local := 0 // failures of this node's own file, one after another
		for failures := 1; ; failures++ {
			err := w.catchUpShared(s.ctx, epoch)
			if err == nil || s.ctx.Err() != nil {
				return
			}
			w.db.log.Warn("what the shared log has cannot be read or stored here; appends are refused until it can", "err", err)
			if local++; errors.As(err, new(*readError)) {
				local = 0
			}
			if local >= mostLocal {
				err = &shared.FailingError{Err: err}
			}
			if fatalShared(err) {
				s.refuse(err)
				return
			}
			if wait.For(s.ctx, recoverPauses.After(failures)) != nil {
				return
			}
		}
	})
}

// readError is the failure to read the shared log.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// fatalShared reports whether an error will not pass by itself.
func fatalShared(err error) bool {
	return errors.As(err, new(*shared.DivergedError)) || errors.As(err, new(*shared.UnsoundError)) || errors.As(err, new(*shared.AheadError)) ||
		errors.As(err, new(*shared.FencedError)) || errors.As(err, new(*shared.FailingError)) || errors.Is(err, eventstore.ErrClosed)
}

// catchUpShared applies what the shared log has behind this node, then lets appends in, unless another node writes. It
// does nothing once the epoch is over.
func (w *writer) catchUpShared(ctx context.Context, epoch int64) error {
	s := w.share
	for {
		s.mu.Lock()
		own := s.head
		s.mu.Unlock()
		records, err := s.read(ctx, own.Number)
		if !s.leadsIn(epoch) {
			return nil
		}
		if err != nil {
			return &readError{err}
		}
		for i := range records {
			if records[i].Epoch > own.Epoch {
				return s.fence(records[i].Head())
			}
		}
		if len(records) > 0 {
			if err := w.applyAll(ctx, records); err != nil {
				return err
			}
		}
		if len(records) < recordsAtOnce {
			s.refuse(nil)
			return nil
		}
	}
}

// recordsAtOnce is how many records are read at once.
const recordsAtOnce = 256

func (s *share) read(ctx context.Context, after int64) ([]shared.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	return s.log.Read(ctx, after, recordsAtOnce)
}

// applyRecords stores records of the shared log as they are, by the projectors of appends. Those that are applied
// already change nothing, except that what they blank is blanked again.
func (w *writer) applyRecords(records []shared.Record) error {
	for i := range records {
		r := &records[i]
		events, blanked, err := r.Decode()
		if err != nil {
			return err
		}
		if done := min(max(w.log.seq-r.First+1, 0), int64(len(events))); done > 0 {
			events = events[done:]
		}
		if len(events) > 0 {
			if err := w.checkPlace(r, events); err != nil {
				return err
			}
			if err := w.restore(events); err != nil {
				return err
			}
		}
		if w.log.seq == r.Last && w.log.hash != r.After {
			return &shared.DivergedError{Seq: r.Last, Local: w.log.hash, Shared: r.After}
		}
		w.rewrites = w.rewrites || len(blanked) > 0
		if err := blank(w.tx, blanked); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace checks that the events of a record, as far as they are not stored, follow the log.
func (w *writer) checkPlace(r *shared.Record, events []eventstore.Event) error {
	if events[0].Seq != w.log.seq+1 {
		return &shared.UnsoundError{Number: r.Number, Detail: fmt.Sprintf("it begins with event %d, this node ends with %d", r.First, w.log.seq)}
	}
	if hash := eventstore.ChainHash(w.log.hash, &events[0]); hash != events[0].Hash {
		return &shared.DivergedError{Seq: w.log.seq, Local: w.log.hash, Shared: r.Before}
	}
	return nil
}

// SharedHead returns the newest record of the shared log that this node has, and whether it is the writer. It is zero
// without a shared log.
func (db *DB) SharedHead() (head shared.Head, writes bool) {
	if db.writer == nil || db.writer.share == nil {
		return shared.Head{}, false
	}
	s := db.writer.share
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head, s.role == leads
}

// locate compares the end of this log with the shared one, and returns the number of the record behind which this node
// continues. Errors: *shared.AheadError, *shared.DivergedError, or those of the shared log.
func (db *DB) locate(ctx context.Context, log shared.Log) (after int64, err error) {
	if after, err = db.placeIn(ctx, log); err == nil {
		err = db.becomeCopy(ctx)
	}
	return after, err
}

func (db *DB) placeIn(ctx context.Context, log shared.Log) (after int64, err error) {
	own := db.writer.head.get()
	if own.Seq == 0 {
		return 0, nil
	}
	number, err := log.Find(ctx, own.Seq)
	if errors.Is(err, eventstore.ErrNotFound) {
		end, err := log.Head(ctx)
		if err != nil {
			return 0, err
		}
		return 0, &shared.AheadError{Local: own.Seq, Shared: end.Seq}
	}
	if err != nil {
		return 0, err
	}
	there, err := hashAt(ctx, log, number, own.Seq)
	if err != nil {
		return 0, err
	}
	if there != own.Hash {
		return 0, db.diverged(ctx, log, own.Seq)
	}
	return number - 1, nil // the record itself again: it may have more events, and what it blanks
}

// hashAt returns the chain hash of an event in a record.
func hashAt(ctx context.Context, log shared.Log, number, seq int64) (eventstore.Hash, error) {
	records, err := log.Read(ctx, number-1, 1)
	if err != nil {
		return eventstore.Hash{}, err
	}
	if len(records) == 0 || seq < records[0].First || seq > records[0].Last {
		return eventstore.Hash{}, &shared.UnsoundError{Number: number, Detail: fmt.Sprintf("it does not have event %d", seq)}
	}
	events, _, err := records[0].Decode()
	if err != nil {
		return eventstore.Hash{}, err
	}
	return events[seq-records[0].First].Hash, nil
}

// diverged finds the first event that differs; last is one that does. Each hash covers all events before it, so that
// half of those that are left can be left out at a time.
func (db *DB) diverged(ctx context.Context, log shared.Log, last int64) error {
	first := int64(1)
	found := &shared.DivergedError{Seq: last}
	for first <= last {
		seq := first + (last-first)/2
		e, err := db.Event(ctx, seq)
		if err != nil {
			return err
		}
		number, err := log.Find(ctx, seq)
		if err != nil {
			return err
		}
		there, err := hashAt(ctx, log, number, seq)
		switch {
		case err != nil:
			return err
		case there == e.Hash:
			first = seq + 1
		default:
			found = &shared.DivergedError{Seq: seq, Local: e.Hash, Shared: there}
			last = seq - 1
		}
	}
	return found
}

var errNotShared = errors.New("the log was opened without a shared log")

// Follow applies the shared log to this one, first what it lacks and then what comes, until ctx ends. Appends are
// refused with a *shared.FollowerError. One Follow or Lead at a time. Errors: *shared.AheadError and
// *shared.DivergedError, which nothing but people can repair, ctx's, or those of the shared log.
func (db *DB) Follow(ctx context.Context) error {
	if db.writer == nil || db.writer.share == nil {
		return errNotShared
	}
	s := db.writer.share
	s.mu.Lock()
	s.role = follows
	s.mu.Unlock()
	after, err := db.locate(ctx, s.log)
	if err != nil {
		return err
	}
	return s.log.Watch(ctx, after, func(records []shared.Record) error {
		return db.writer.applyAll(ctx, records)
	})
}

// applyAll applies records, a limited number of events in each transaction.
func (w *writer) applyAll(ctx context.Context, records []shared.Record) error {
	for len(records) > 0 {
		n, events, bytes := 0, int64(0), int64(0)
		for n < len(records) && (n == 0 || events+records[n].Last-records[n].First < applyEvents) {
			events += records[n].Last - records[n].First + 1
			bytes += int64(len(records[n].Body))
			n++
		}
		if err := w.submit(ctx, &request{records: records[:n], events: int(events), bytes: bytes}); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// applyEvents is how many events one transaction applies, unless one record has more.
const applyEvents = 2048

var errReached = errors.New("the head of the lease is reached")

// Lead makes this node the writer, with a lease of the shared log: it applies all that was appended before the epoch,
// then takes appends. It must not follow at the same time. Errors: *shared.AheadError, *shared.DivergedError,
// *shared.FencedError if another node has taken over meanwhile, or those of the shared log.
func (db *DB) Lead(ctx context.Context, lease shared.Lease) error {
	if db.writer == nil || db.writer.share == nil {
		return errNotShared
	}
	s := db.writer.share
	after, err := db.locate(ctx, s.log)
	if err != nil {
		return err
	}
	err = s.log.Watch(ctx, after, func(records []shared.Record) error {
		n := 0
		for n < len(records) && records[n].Number <= lease.Head.Number {
			n++
		}
		if err := db.writer.applyAll(ctx, records[:n]); err != nil {
			return err
		}
		if n < len(records) && records[n].Epoch > lease.Epoch {
			return &shared.FencedError{Epoch: lease.Epoch, By: records[n].Head()}
		}
		if n > 0 && records[n-1].Number == lease.Head.Number {
			return errReached
		}
		return nil
	})
	if !errors.Is(err, errReached) {
		return err
	}
	if own := db.writer.head.get(); own.Seq != lease.Head.Seq || own.Hash != lease.Head.Hash {
		return &shared.DivergedError{Seq: own.Seq, Local: own.Hash, Shared: lease.Head.Hash}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role, s.head, s.refused = leads, lease.Head, nil
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	return nil
}

// Led returns when the node that Lead made the writer cannot be it any more, or when ctx ends. The errors are those of
// appends: a *shared.FencedError, or one of those of Follow that nothing but people can repair.
func (db *DB) Led(ctx context.Context) error {
	if db.writer == nil || db.writer.share == nil {
		return errNotShared
	}
	s := db.writer.share
	s.mu.Lock()
	ended, err := s.ended, s.refused
	s.mu.Unlock()
	if ended == nil {
		return err
	}
	select {
	case <-ended:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refused
	case <-ctx.Done():
		return ctx.Err()
	}
}

// RedactShared removes payloads of events from the shared log that have been blanked here. It may be repeated.
func (db *DB) RedactShared(ctx context.Context, seqs []int64) error {
	if db.writer == nil || db.writer.share == nil {
		return nil
	}
	return db.writer.share.log.Redact(ctx, seqs)
}

// redactInShared is Redact with a shared log: a record says it to the other nodes.
func (db *DB) redactInShared(ctx context.Context, seq int64) error {
	a := &appendRequest{}
	a.decide = func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		a.blank = []int64{seq}
		var there bool
		err := tx.Query("SELECT 1 FROM events WHERE seq = ?", []any{seq}, func(eventstore.Row) error {
			there = true
			return nil
		})
		if err == nil && !there {
			err = eventstore.ErrNotFound
		}
		return nil, err
	}
	if err := db.writer.submit(ctx, &request{append: a, events: 1}); err != nil {
		return err
	}
	return db.RedactShared(ctx, []int64{seq})
}
