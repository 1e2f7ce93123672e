package sqlite

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Gauges are figures of an open log. Taking them reads nothing of the file.
type Gauges struct {
	DatabaseBytes int64
	WALBytes      int64
	// OldestReader is how long the oldest snapshot under way has been held; 0: none is. It keeps the WAL from being begun anew.
	OldestReader time.Duration

	// Of the writer; zero in a log that is open for reading only.
	QueuedEvents int
	QueuedBytes  int64
	Writing      time.Duration // how long the transaction under way has taken; 0: none is
	Maintaining  bool          // that one is maintenance, which takes as long as the file is large
	Stored       int64         // events since the log was opened
	Refused      int64         // appends for what they were: conflicts, ids used before, decision tables
	Busy         int64         // appends for a full queue
	Failed       int64         // appends for trouble with the file: disk full, I/O errors
	Failing      error         // why the newest append failed so; nil once one has succeeded
}

// Gauges takes the figures as they are now.
func (db *DB) Gauges() Gauges {
	g := Gauges{DatabaseBytes: size(db.path), WALBytes: size(db.path + "-wal"), OldestReader: db.held.oldest()}
	if w := db.writer; w != nil {
		w.mu.Lock()
		g.QueuedEvents, g.QueuedBytes = w.events, w.bytes
		w.mu.Unlock()
		w.tally.read(&g)
	}
	return g
}

// size of a file in bytes, without opening it; 0 if it is not there.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tally counts what the writer does.
type tally struct {
	stored, refused, busy, failures atomic.Int64
	since                           atomic.Pointer[time.Time] // when the transaction under way began
	maintaining                     atomic.Bool               // whether it is maintenance
	failing                         atomic.Pointer[error]
}

func (t *tally) begun(maintenance bool) {
	now := time.Now()
	t.maintaining.Store(maintenance)
	t.since.Store(&now)
}

func (t *tally) ended() { t.since.Store(nil) }

// answered counts a request whose group was committed.
func (t *tally) answered(r *request) {
	if r.err != nil {
		t.refused.Add(1)
		return
	}
	t.stored.Add(int64(r.events))
	t.failing.Store(nil)
}

// failed counts a request whose group was not.
func (t *tally) failed(err error) {
	t.failures.Add(1)
	t.failing.Store(&err)
}

func (t *tally) read(g *Gauges) {
	g.Stored, g.Refused, g.Busy, g.Failed = t.stored.Load(), t.refused.Load(), t.busy.Load(), t.failures.Load()
	if since := t.since.Load(); since != nil {
		g.Writing, g.Maintaining = time.Since(*since), t.maintaining.Load()
	}
	if failing := t.failing.Load(); failing != nil {
		g.Failing = *failing
	}
}

// snapshots knows who reads, and since when each reader has held its snapshot.
type snapshots struct {
	mu      sync.Mutex
	last    int64
	since   map[int64]time.Time
	readers int
	ended   bool
	idle    chan struct{} // closed once ended is set and no one reads
}

// enter notes that a caller reads; the function that it returns, that it no longer does. Once the log is closed no one may.
func (s *snapshots) enter() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, eventstore.ErrClosed
	}
	s.readers++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.readers--; s.readers == 0 && s.ended {
			close(s.idle)
		}
	}, nil
}

// drain lets no one begin to read any more, and waits for those who do: but not for ever, because one that hangs must not keep the program from
// ending.
func (s *snapshots) drain(longest time.Duration) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended, s.idle = true, make(chan struct{})
	if s.readers == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	late := time.NewTimer(longest)
	defer late.Stop()
	select {
	case <-s.idle:
	case <-late.C:
	}
}

// take is enter for who holds one snapshot; the function that it returns notes that it is given back.
func (s *snapshots) take() (giveBack func(), err error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[int64]time.Time{}
	}
	s.last++
	n := s.last
	s.since[n] = time.Now()
	return func() {
		s.mu.Lock()
		delete(s.since, n)
		s.mu.Unlock()
		leave()
	}, nil
}

func (s *snapshots) oldest() (age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.since {
		age = max(age, time.Since(since))
	}
	return age
}
