package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// readModel is an Inline with one read model. It notes up to which event it was written each time.
type readModel struct {
	recorder
	mu       sync.Mutex
	head, at int64 // of the last commit
	accepted int64
	writing  bool
	written  []int64
	fault    error // of every WriteBehind
}

func (m *readModel) Accept(_ eventstore.Tx, e *eventstore.Event, _ any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted = e.Seq
	return nil
}

func (m *readModel) WriteBehind(eventstore.Tx) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writing = true
	return m.fault
}

func (m *readModel) Written() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *readModel) Committed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writing {
		m.at, m.writing = m.head, false
		m.written = append(m.written, m.at)
	}
	m.head = max(m.head, m.accepted)
}

func (m *readModel) Aborted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writing, m.accepted = false, m.head
}

func (m *readModel) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = err
}

// check fails t unless the read model was written up to these events.
func (m *readModel) check(t *testing.T, want ...int64) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if diff := cmp.Diff(want, m.written); diff != "" {
		t.Errorf("written up to (-want +got):\n%s", diff)
	}
}

// model opens a log with a read model attached.
func model(t testing.TB, m *readModel) *sqlite.DB {
	t.Helper()
	db := openNew(t)
	if err := db.Attach(t.Context(), m, func(eventstore.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return db
}

func view(t testing.TB, db *sqlite.DB) {
	t.Helper()
	if err := db.View(t.Context(), func(*sql.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// refolded is a read model that reads the log to be written, as after a failure.
type refolded struct {
	readModel
	db *sqlite.DB
}

func (m *refolded) WriteBehind(tx eventstore.Tx) error {
	if _, err := m.db.Read(context.Background(), 0, 10); err != nil {
		return err
	}
	return m.readModel.WriteBehind(tx)
}

// More readers than there are connections wait for the writer, which needs one too.
func TestWaitingReadersLeaveTheWriterAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &refolded{db: openNew(t)}
		if err := m.db.Attach(t.Context(), m, func(eventstore.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, m.db, send(0))
		release := make(chan struct{})
		decided := later(func() (eventstore.Result, error) {
			return m.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
				<-release
				return []eventstore.StreamAppend{send(0)}, nil
			})
		})
		var readers sync.WaitGroup
		for range 2 * max(4, runtime.NumCPU()) {
			readers.Go(func() { view(t, m.db) })
		}
		synctest.Wait()
		close(release)
		readers.Wait()
		if a := <-decided; a.err != nil {
			t.Error(a.err)
		}
	})
}

func TestReadModelsAreWrittenBehind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, db *sqlite.DB)
		want []int64
	}{
		{"after some commits", func(t *testing.T, db *sqlite.DB) {
			for range 17 {
				mustAppend(t, db, send(0))
			}
		}, []int64{8, 16}},
		{"after many events", func(t *testing.T, db *sqlite.DB) {
			events := make([]eventstore.NewEvent, 2048)
			for i := range events {
				events[i] = event(`{}`)
			}
			mustAppend(t, db, to("log", events...))
		}, []int64{2048}},
		{"when nothing comes for a moment", func(t *testing.T, db *sqlite.DB) {
			mustAppend(t, db, send(0))
			mustAppend(t, db, send(0))
			<-time.After(20 * time.Millisecond)
			<-time.After(time.Minute) // and then not again
		}, []int64{2}},
		{"for a reader", func(t *testing.T, db *sqlite.DB) {
			mustAppend(t, db, send(0))
			view(t, db)
			view(t, db)
		}, []int64{1}},
		{"at once while there are readers", func(t *testing.T, db *sqlite.DB) {
			view(t, db)
			mustAppend(t, db, send(0)) // for the next reader
			synctest.Wait()
			mustAppend(t, db, send(0)) // none has come
			synctest.Wait()
		}, []int64{1}},
		{"before a job", func(t *testing.T, db *sqlite.DB) {
			mustAppend(t, db, send(0))
			if err := db.Exclusive(t.Context(), func(eventstore.Tx) error { return nil }, nil); err != nil {
				t.Fatal(err)
			}
		}, []int64{1}},
		{"within a decision that reads them", func(t *testing.T, db *sqlite.DB) {
			mustAppend(t, db, send(0))
			if _, err := db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
				return []eventstore.StreamAppend{send(0)}, eventstore.CatchUp(tx)
			}); err != nil {
				t.Fatal(err)
			}
		}, []int64{1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &readModel{}
				db := model(t, m)
				tt.do(t, db)
				synctest.Wait()
				m.check(t, tt.want...)
			})
		})
	}
}

func TestClosingWritesReadModels(t *testing.T) {
	t.Parallel()
	m := &readModel{}
	db := model(t, m)
	mustAppend(t, db, send(0))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	m.check(t, 1)
}

// Events are stored and read although the read models cannot be written; that is tried again.
func TestReadModelsThatCannotBeWrittenHoldNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &readModel{fault: errors.New("full")}
		db := model(t, m)
		before := db.Mark()
		mustAppend(t, db, send(0))
		view(t, db)
		mustAppend(t, db, send(0))
		synctest.Wait()
		m.fail(nil)
		<-time.After(2 * time.Second)
		m.check(t, 2)
		if both := before.Until(db.Mark()); both.Settled() || !both.Intact() {
			t.Errorf("%+v", both)
		}
	})
}

// Writing read models is a change of what a mark names, but no rewriting of events.
func TestWrittenReadModelsAreAnotherState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := model(t, &readModel{})
		mustAppend(t, db, send(0))
		before := db.Mark()
		var seen eventstore.Mark
		if err := db.ViewMarked(t.Context(), func(_ *sql.Tx, mark eventstore.Mark) error { seen = mark; return nil }); err != nil {
			t.Fatal(err)
		}
		if both := before.Until(seen); both.Settled() || !both.Intact() {
			t.Errorf("from %+v to %+v", before, seen)
		}
		if seen != db.Mark() || !seen.Settled() {
			t.Errorf("the view is of %+v, the log is %+v", seen, db.Mark())
		}
	})
}

// Promise: read-your-writes
func TestReadersSeeReadModelsAtTheHeadOfTheirSnapshot(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	project(t, db)
	var working, reading sync.WaitGroup
	stop := make(chan struct{})
	for a := range 4 {
		working.Go(func() {
			for range testscale.Of(50, 500) {
				stored, err := db.Append(t.Context(), talkOf(a))
				if err != nil {
					t.Error(err)
					return
				}
				checkSnapshot(t, db, stored.Seq)
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					checkSnapshot(t, db, 0)
				}
			}
		})
	}
	working.Wait()
	close(stop)
	reading.Wait()
}

func talkOf(a int) eventstore.StreamAppend {
	e := message(a)
	e.Data = object(map[string]any{"workSessionId": fmt.Sprint("ws_", a), "conversationId": "c1", "fromAgent": "main", "toAgent": "ruda"})
	return to(fmt.Sprint("s", a), e)
}

// checkSnapshot fails t unless a view sees the log at least up to seq, and the read models at its end.
func checkSnapshot(t *testing.T, db *sqlite.DB, seq int64) {
	t.Helper()
	var head, at, indexed int64
	err := db.View(t.Context(), func(tx *sql.Tx) (err error) {
		if at, err = projections.AsOf(t.Context(), tx); err != nil {
			return err
		}
		return tx.QueryRow("SELECT (SELECT coalesce(max(seq), 0) FROM events), (SELECT count(*) FROM event_index)").Scan(&head, &indexed)
	})
	if err != nil || head < seq || at != head || indexed != head {
		t.Errorf("after %d a reader sees %d events, read models at %d, %d indexed; %v", seq, head, at, indexed, err)
	}
}

// A reader waits for the running batch, not for those that are queued.
func TestReadersAreNotStarved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &readModel{}
		db := model(t, m)
		mustAppend(t, db, send(0))
		held := make(chan struct{})
		answers := []<-chan answer{later(func() (eventstore.Result, error) {
			return db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
				<-held
				return []eventstore.StreamAppend{send(0)}, nil
			})
		})}
		synctest.Wait()
		for range 600 {
			answers = append(answers, appendLater(t, db, send(0)))
		}
		var head int64
		seen := make(chan error, 1)
		go func() {
			seen <- db.View(t.Context(), func(tx *sql.Tx) error {
				return tx.QueryRow("SELECT max(seq) FROM events").Scan(&head)
			})
		}()
		synctest.Wait()
		close(held)
		if err := <-seen; err != nil || head > 257 {
			t.Errorf("a reader that came after 1 event sees %d, %v", head, err)
		}
		for _, a := range answers {
			if got := <-a; got.err != nil {
				t.Fatal(got.err)
			}
		}
	})
}

// A reader that gives up leaves the others alone.
func TestReaderThatGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := model(t, &readModel{})
		mustAppend(t, db, send(0))
		held := make(chan struct{})
		first := later(func() (eventstore.Result, error) {
			return db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { <-held; return nil, nil })
		})
		synctest.Wait()
		ctx, stop := context.WithCancel(t.Context())
		seen := make(chan error, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() { seen <- db.View(ctx, func(*sql.Tx) error { return nil }) }()
		}
		synctest.Wait()
		stop()
		if err := <-seen; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that gave up: %v", err)
		}
		close(held)
		if err := <-seen; err != nil {
			t.Errorf("the other: %v", err)
		}
		if got := <-first; got.err != nil {
			t.Error(got.err)
		}
	})
}

// A decision that asks for the activity of a work session sees what was stored before it.
func TestDecisionsSeeActivity(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	project(t, db)
	mustAppend(t, db, talkOf(1))
	_, err := db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		if _, known, err := conversations.LastActivity(tx, "ws_1"); err != nil || !known {
			t.Errorf("the work session is known: %v, %v", known, err)
		}
		return []eventstore.StreamAppend{talkOf(1)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSnapshot(t, db, 2)
	checkTables(t, db)
}
