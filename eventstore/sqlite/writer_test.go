package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// The tests of the writer run in bubbles: there synctest.Wait knows that everything that can be queued is queued.

// answer is what an append returned.
type answer struct {
	result eventstore.Result
	err    error
}

// appendLater queues an append that the writer is too busy for.
func appendLater(t testing.TB, db *sqlite.DB, appends ...eventstore.StreamAppend) <-chan answer {
	t.Helper()
	return later(func() (eventstore.Result, error) { return db.Append(t.Context(), appends...) })
}

func later(call func() (eventstore.Result, error)) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		result, err := call()
		answers <- answer{result, err}
	}()
	synctest.Wait()
	return answers
}

// occupy keeps the writer busy until release is called.
func occupy(t testing.TB, db *sqlite.DB) (release func()) {
	t.Helper()
	held, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- db.Exclusive(t.Context(), func(eventstore.Tx) error { <-held; return nil }, nil) }()
	synctest.Wait()
	return func() {
		t.Helper()
		close(held)
		if err := <-done; err != nil {
			t.Errorf("keep the writer busy: %v", err)
		}
	}
}

// recorder is an Inline that notes what it is told, and fails where it is told to.
type recorder struct {
	accepting int
	committed []int // events of every commit
	aborted   int
	reverted  int
	accept    func(*eventstore.Event) error // may be nil
	flush     func() error                  // may be nil
	began     int
}

func (r *recorder) Prepare(*eventstore.Event) any { return "prepared" }
func (r *recorder) Begin(eventstore.Tx)           { r.began = r.accepting }
func (r *recorder) Accept(_ eventstore.Tx, e *eventstore.Event, _ any) error {
	r.accepting++
	if r.accept == nil {
		return nil
	}
	return r.accept(e)
}
func (r *recorder) Revert()                    { r.accepting = r.began; r.reverted++ }
func (r *recorder) Settle(eventstore.Tx) error { return nil }
func (r *recorder) Flush(eventstore.Tx) error {
	if r.flush == nil {
		return nil
	}
	return r.flush()
}
func (r *recorder) WriteBehind(eventstore.Tx) error { return nil }
func (r *recorder) Written() int64                  { return math.MaxInt64 } // it has no read models
func (r *recorder) Committed()                      { r.committed, r.accepting = append(r.committed, r.accepting), 0 }
func (r *recorder) Aborted()                        { r.accepting = 0; r.aborted++ }

// record opens a log with a recorder attached.
func record(t testing.TB, r *recorder) *sqlite.DB {
	t.Helper()
	db := openNew(t)
	if err := db.Attach(t.Context(), r, func(eventstore.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestQueuedAppendsShareACommit(t *testing.T) {
	t.Parallel()
	large := func() eventstore.StreamAppend { return to("log", event(`{"long":"`+strings.Repeat("x", 600<<10)+`"}`)) }
	for _, tt := range []struct {
		name    string
		queued  int
		request func() eventstore.StreamAppend
		want    []int // events of each commit
	}{
		{"one", 1, func() eventstore.StreamAppend { return send(0) }, []int{1}},
		{"as many as go into a group", 256, func() eventstore.StreamAppend { return send(0) }, []int{256}},
		{"more than go into a group", 300, func() eventstore.StreamAppend { return send(0) }, []int{256, 44}},
		{"several events each", 100, func() eventstore.StreamAppend { return to("log", event(`{}`), event(`{}`), event(`{}`)) }, []int{255, 45}},
		{"large ones", 3, large, []int{1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				db := record(t, r)
				release := occupy(t, db)
				var answers []<-chan answer
				for range tt.queued {
					answers = append(answers, appendLater(t, db, tt.request()))
				}
				release()
				last := int64(0)
				for i, a := range answers {
					got := <-a
					if got.err != nil {
						t.Fatalf("append %d: %v", i, got.err)
					}
					for _, e := range got.result.Events {
						if last++; e.Seq != last {
							t.Fatalf("append %d got seq %d, want %d: first come, first stored", i, e.Seq, last)
						}
					}
				}
				if diff := cmp.Diff(tt.want, r.committed); diff != "" {
					t.Errorf("events of each commit (-want +got):\n%s", diff)
				}
				verify(t, db, last)
			})
		})
	}
}

// Those who were served are acknowledged after a while, however many decisions are left that take long; the order stays.
func TestLongDecisionsAreCommittedInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		db := record(t, r)
		release := occupy(t, db)
		var answers []<-chan answer
		for range 7 {
			answers = append(answers, later(func() (eventstore.Result, error) {
				return db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
					<-time.After(4 * time.Millisecond)
					return []eventstore.StreamAppend{send(0)}, nil
				})
			}))
		}
		release()
		for i, a := range answers {
			if got := <-a; got.err != nil || got.result.Events[0].Seq != int64(i+1) {
				t.Fatalf("decision %d: %+v", i, got)
			}
		}
		if diff := cmp.Diff([]int{3, 3, 1}, r.committed); diff != "" {
			t.Errorf("events of each commit (-want +got):\n%s", diff)
		}
		verify(t, db, 7)
	})
}

func TestOneRequestMayBeLargerThanAGroup(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	db := record(t, r)
	events := make([]eventstore.NewEvent, 300)
	for i := range events {
		events[i] = event(`{}`)
	}
	mustAppend(t, db, to("log", events...))
	if diff := cmp.Diff([]int{300}, r.committed); diff != "" {
		t.Errorf("events of each commit (-want +got):\n%s", diff)
	}
}

func TestFullQueueIsBusy(t *testing.T) {
	t.Parallel()
	thousand := make([]eventstore.NewEvent, 1000)
	for i := range thousand {
		thousand[i] = event(`{}`)
	}
	large := event(`{"long":"` + strings.Repeat("x", 7<<20) + `"}`)
	for _, tt := range []struct {
		name   string
		append eventstore.StreamAppend
		fit    int
		events int
	}{
		{"events", to("log", thousand...), 4, 4000},
		{"bytes", to("log", large), 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := openNew(t)
				release := occupy(t, db)
				var answers []<-chan answer
				for range tt.fit {
					answers = append(answers, appendLater(t, db, tt.append))
				}
				_, err := db.Append(t.Context(), tt.append)
				busy := wantAs[*eventstore.BusyError](t, err)
				if busy.Events != tt.events || busy.Bytes == 0 || busy.RetryAfter <= 0 || busy.Hint() == "" {
					t.Errorf("busy is %+v", busy)
				}
				release()
				for i, a := range answers {
					if got := <-a; got.err != nil {
						t.Errorf("append %d, which had a place: %v", i, got.err)
					}
				}
				mustAppend(t, db, tt.append)
				if got := head(t, db); got != int64((tt.fit+1)*len(tt.append.Events)) {
					t.Errorf("head is %d", got)
				}
			})
		})
	}
}

func TestContextEndsOnlyTheWaitForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		ctx, cancel := context.WithCancel(t.Context())
		release := occupy(t, db)
		queued := later(func() (eventstore.Result, error) { return db.Append(ctx, send(0)) })
		cancel()
		if _, err := db.Append(ctx, send(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("append with an ended context: %v", err)
		}
		release()
		if got := <-queued; got.err != nil {
			t.Errorf("append whose context ended in the queue: %v", got.err)
		}
		verify(t, db, 1)
	})
}

var errRefused = errors.New("refused on purpose")

func TestRefusalConcernsOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{accept: func(e *eventstore.Event) error {
			if e.Type == "bad" {
				return errRefused
			}
			return nil
		}}
		db := record(t, r)
		bad := event(`{}`)
		bad.Type = "bad"
		release := occupy(t, db)
		answers := []<-chan answer{
			appendLater(t, db, to("a", event(`{}`))),
			appendLater(t, db, to("a", event(`{}`)), to("b", event(`{}`), bad)),
			appendLater(t, db, eventstore.StreamAppend{Stream: "b", Expect: eventstore.NoStream(), Events: []eventstore.NewEvent{event(`{}`)}}),
			appendLater(t, db, eventstore.StreamAppend{Stream: "b", Expect: eventstore.Exactly(7), Events: []eventstore.NewEvent{event(`{}`)}}),
			appendLater(t, db, eventstore.StreamAppend{Stream: "a", Expect: eventstore.Exactly(1), Events: []eventstore.NewEvent{event(`{}`)}}),
		}
		release()
		var got []eventstore.Stored
		for i, a := range answers {
			switch answer := <-a; i {
			case 1:
				if !errors.Is(answer.err, errRefused) {
					t.Errorf("the bad one: %v", answer.err)
				}
			case 3:
				wantAs[*eventstore.ConflictError](t, answer.err)
			default:
				if answer.err != nil {
					t.Errorf("append %d: %v", i, answer.err)
				}
				for _, s := range answer.result.Events {
					got = append(got, eventstore.Stored{Seq: s.Seq, Version: s.Version})
				}
			}
		}
		if diff := cmp.Diff([]eventstore.Stored{{Seq: 1, Version: 1}, {Seq: 2, Version: 1}, {Seq: 3, Version: 2}}, got); diff != "" {
			t.Errorf("places of the others (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{3}, r.committed); diff != "" || r.reverted != 1 || r.aborted != 0 {
			t.Errorf("%d reverted, %d aborted; events of each commit (-want +got):\n%s", r.reverted, r.aborted, diff)
		}
		verify(t, db, 3)
	})
}

func TestPanicConcernsOneRequest(t *testing.T) {
	t.Parallel()
	isBad := func(e *eventstore.Event) bool { return e.Type == "bad" }
	bad := event(`{}`)
	bad.Type = "bad"
	for _, tt := range []struct {
		name     string
		recorder func() *recorder
		call     func(ctx context.Context, db *sqlite.DB) (eventstore.Result, error)
	}{
		{"in Accept", func() *recorder {
			return &recorder{accept: func(e *eventstore.Event) error {
				if isBad(e) {
					panic("on purpose")
				}
				return nil
			}}
		}, func(ctx context.Context, db *sqlite.DB) (eventstore.Result, error) {
			return db.Append(ctx, to("log", bad))
		}},
		{"in Flush", func() *recorder {
			r, pending := &recorder{}, false
			r.accept = func(e *eventstore.Event) error { pending = pending || isBad(e); return nil }
			r.flush = func() error {
				if pending {
					pending = false
					panic("on purpose")
				}
				return nil
			}
			return r
		}, func(ctx context.Context, db *sqlite.DB) (eventstore.Result, error) {
			return db.Append(ctx, to("log", bad))
		}},
		{"in a decision", func() *recorder { return &recorder{} }, func(ctx context.Context, db *sqlite.DB) (eventstore.Result, error) {
			return db.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) { panic("on purpose") })
		}},
		{"in a job", func() *recorder { return &recorder{} }, func(ctx context.Context, db *sqlite.DB) (eventstore.Result, error) {
			return eventstore.Result{}, db.Exclusive(ctx, func(eventstore.Tx) error { panic("on purpose") }, nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := record(t, tt.recorder())
				release := occupy(t, db)
				before := appendLater(t, db, send(0))
				failing := later(func() (eventstore.Result, error) { return tt.call(t.Context(), db) })
				after := appendLater(t, db, send(1))
				release()
				for _, a := range []<-chan answer{before, after} {
					if got := <-a; got.err != nil {
						t.Errorf("an append beside it: %v", got.err)
					}
				}
				if got := <-failing; got.err == nil {
					t.Error("the request that panicked was acknowledged")
				}
				mustAppend(t, db, send(2))
				verify(t, db, 3)
			})
		})
	}
}

// countedLog counts the transactions in which events are stored.
type countedLog struct {
	*sqlite.DB
	counted
}

type counted struct {
	eventstore.Inline
	commits *int
}

func (l countedLog) Attach(ctx context.Context, inline eventstore.Inline, handover func(eventstore.Tx) error) error {
	l.counted.Inline = inline
	return l.DB.Attach(ctx, l.counted, handover)
}

func (c counted) Committed() { *c.commits++; c.Inline.Committed() }

// A decision stands on every event before it, those of its own group commit too.
func TestDecisionSeesWhatItsGroupStoredBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, commits := openNew(t), 0
		project(t, countedLog{db, counted{commits: &commits}})
		decide := func() (eventstore.Result, error) {
			return db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
				conversation := ""
				err := tx.Query("SELECT conversation_id FROM routes WHERE route_key = ?", []any{"ws_1::main|ruda"}, func(r eventstore.Row) error {
					conversation = r.Text(0)
					return nil
				})
				return []eventstore.StreamAppend{to("found", event(fmt.Sprintf(`{"conversation":%q}`, conversation)))}, err
			})
		}
		release := occupy(t, db)
		answers := []<-chan answer{later(decide), appendLater(t, db, send(1)), later(decide), appendLater(t, db, send(11)), later(decide)}
		release()
		for i, a := range answers {
			if got := <-a; got.err != nil {
				t.Fatalf("request %d: %v", i, got.err)
			}
		}
		if commits != 1 {
			t.Errorf("%d commits, want 1", commits)
		}
		events, err := db.ReadStream(t.Context(), "found", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, e := range events {
			found = append(found, string(e.Data))
		}
		if diff := cmp.Diff([]string{`{"conversation":""}`, `{"conversation":"c1"}`, `{"conversation":"c2"}`}, found); diff != "" {
			t.Errorf("what the decisions saw (-want +got):\n%s", diff)
		}
	})
}

func TestDecisionThatFailsStoresNothing(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	for _, tt := range []struct {
		name   string
		decide func(eventstore.Tx) ([]eventstore.StreamAppend, error)
		check  func(t *testing.T, err error)
	}{
		{"its own error", func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return []eventstore.StreamAppend{send(0)}, errRefused
		}, func(t *testing.T, err error) {
			if err != errRefused { //nolint:errorlint // it must come back as it is
				t.Errorf("error is %v", err)
			}
		}},
		{"an event that can never be stored", func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return []eventstore.StreamAppend{send(0), to("log", event(`[]`))}, nil
		}, func(t *testing.T, err error) { wantAs[*eventstore.InvalidError](t, err) }},
		{"a conflict", func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return []eventstore.StreamAppend{send(0), {Stream: "none", Expect: eventstore.Exists()}}, nil
		}, func(t *testing.T, err error) { wantAs[*eventstore.ConflictError](t, err) }},
		{"SQL that is wrong", func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			return nil, tx.Query("SELECT nonsense", nil, nil)
		}, func(t *testing.T, err error) {
			if err == nil {
				t.Error("no error")
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := db.Decide(t.Context(), tt.decide)
			tt.check(t, err)
			verify(t, db, 0)
		})
	}
	if _, err := db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, nil }); err != nil {
		t.Errorf("a decision for nothing: %v", err)
	}
	verify(t, db, 0)
}

func TestJobRunsAloneBetweenTwoAppends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var order []string
		r := &recorder{accept: func(e *eventstore.Event) error { order = append(order, fmt.Sprint("append ", e.Seq)); return nil }}
		db := record(t, r)
		job := func() (eventstore.Result, error) {
			return eventstore.Result{}, db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
				order = append(order, "job")
				_, err := tx.Exec("CREATE TABLE made_by_job (x)")
				return err
			}, func() { order = append(order, "committed") })
		}
		release := occupy(t, db)
		answers := []<-chan answer{appendLater(t, db, send(0)), later(job), appendLater(t, db, send(1)), appendLater(t, db, send(2))}
		release()
		for i, a := range answers {
			if got := <-a; got.err != nil {
				t.Errorf("request %d: %v", i, got.err)
			}
		}
		if diff := cmp.Diff([]string{"append 1", "job", "committed", "append 2", "append 3"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 2}, r.committed); diff != "" {
			t.Errorf("events of each commit (-want +got):\n%s", diff)
		}
	})
}

func TestJobThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		if _, err := tx.Exec("CREATE TABLE made_by_job (x)"); err != nil {
			return err
		}
		return errRefused
	}, func() { t.Error("the commit of a job that failed was announced") })
	if !errors.Is(err, errRefused) {
		t.Errorf("error is %v", err)
	}
	closeLog(t, db)
	if tables := column(t, db.Path(), "SELECT name FROM sqlite_schema WHERE name = 'made_by_job'"); len(tables) > 0 {
		t.Errorf("there is %v", tables)
	}
}

// The engine is attached while others append: it misses nothing.
func TestAttachingMissesNoEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openNew(t)
		mustAppend(t, db, send(0))
		release := occupy(t, db)
		before := appendLater(t, db, send(1))
		started := make(chan *projections.Engine, 1)
		go func() { started <- project(t, db) }()
		synctest.Wait()
		after := appendLater(t, db, send(2))
		release()
		engine := <-started
		for _, a := range []<-chan answer{before, after} {
			if got := <-a; got.err != nil {
				t.Fatal(got.err)
			}
		}
		if err := engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, db, send(3))
		var n int
		if err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
			return tx.Query("SELECT count(*) FROM event_index", nil, func(r eventstore.Row) error { n = int(r.Int(0)); return nil })
		}, nil); err != nil {
			t.Fatal(err)
		}
		if n != 4 {
			t.Errorf("%d events are indexed of 4", n)
		}
	})
}
