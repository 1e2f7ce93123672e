package sqlite

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Gauges are figures of an open log. Taking them does not read the file.
type Gauges struct {
	DatabaseBytes int64
	WALBytes      int64
	// OldestReader is the age of the oldest open snapshot; 0 if there is none. It keeps the WAL from restarting.
	OldestReader time.Duration

	// Of the writer; zero in a read-only log.
	QueuedEvents int
	QueuedBytes  int64
	Writing      time.Duration // duration of the current transaction; 0: none
	Maintaining  bool          // it is maintenance, which takes as long as the file is large
	Stored       int64         // events since the log was opened
	Refused      int64         // appends refused for their content: conflicts, reused ids, decision tables
	Busy         int64         // appends refused because the queue was full
	Failed       int64         // appends that failed because of the file: disk full, I/O errors
	Failing      error         // error of the newest append of that kind; nil once one has succeeded
}

// Gauges returns the current figures.
func (db *DB) Gauges() Gauges {
	g := Gauges{DatabaseBytes: size(db.path), WALBytes: size(db.path + "-wal"), OldestReader: db.held.oldest()}
	if w := db.writer; w != nil {
		w.mu.Lock()
		g.QueuedEvents, g.QueuedBytes = w.queue.events, w.queue.bytes
		w.mu.Unlock()
		w.writerStats.read(&g)
	}
	return g
}

// size returns the size of a file in bytes, without opening it; 0 if it does not exist.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// writerStats counts the writer's work.
type writerStats struct {
	stored, refused, busy, failures atomic.Int64
	since                           atomic.Pointer[time.Time] // when the current transaction began
	maintaining                     atomic.Bool               // whether it is maintenance
	failing                         atomic.Pointer[error]
}

func (t *writerStats) started(maintenance bool) {
	now := time.Now()
	t.maintaining.Store(maintenance)
	t.since.Store(&now)
}

func (t *writerStats) ended() { t.since.Store(nil) }

// answered counts a request whose group was committed.
func (t *writerStats) answered(r *request) {
	if r.err != nil {
		t.refused.Add(1)
		return
	}
	t.stored.Add(int64(r.events))
	t.failing.Store(nil)
}

// failed counts a request whose group was not.
func (t *writerStats) failed(err error) {
	t.failures.Add(1)
	t.failing.Store(&err)
}

func (t *writerStats) read(g *Gauges) {
	g.Stored, g.Refused, g.Busy, g.Failed = t.stored.Load(), t.refused.Load(), t.busy.Load(), t.failures.Load()
	if since := t.since.Load(); since != nil {
		g.Writing, g.Maintaining = time.Since(*since), t.maintaining.Load()
	}
	if failing := t.failing.Load(); failing != nil {
		g.Failing = *failing
	}
}

// snapshots tracks the readers, and since when each has held its snapshot.
type snapshots struct {
	mu      sync.Mutex
	last    int64
	since   map[int64]time.Time
	readers int
	ended   bool
	idle    chan struct{} // closed once ended is set and there are no readers
}

// enter registers a reader; the returned function unregisters it. It fails once the log is closed.
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

// drain refuses new readers and waits for the current ones, for a limited time: a hanging reader must not keep the
// program from ending.
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
	wait.Unless(s.idle, longest)
}

// hold is enter for a holder of one snapshot; the returned function releases it.
func (s *snapshots) hold() (giveBack func(), err error) {
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
