package sqlite_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// urgentLater is appendLater for a person who waits.
func urgentLater(t testing.TB, db *sqlite.DB, appends ...eventstore.StreamAppend) <-chan answer {
	t.Helper()
	return later(func() (eventstore.Result, error) { return db.Append(eventstore.Urgent(t.Context()), appends...) })
}

// seqs are the places of appends of one event.
func seqs(t testing.TB, answers []<-chan answer) (all []int64) {
	t.Helper()
	for i, a := range answers {
		got := <-a
		if got.err != nil {
			t.Fatalf("append %d: %v", i, got.err)
		}
		all = append(all, got.result.Events[0].Seq)
	}
	return all
}

// Urgent appends go first, but while others wait one of five is another's. Each kind keeps its order.
func TestUrgentAppendsGoFirstByTurns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		others, urgent         int
		wantOthers, wantUrgent []int64
	}{
		{"one", 3, 1, []int64{2, 3, 4}, []int64{1}},
		{"many", 3, 10, []int64{5, 10, 13}, []int64{1, 2, 3, 4, 6, 7, 8, 9, 11, 12}},
		{"no others", 0, 7, nil, []int64{1, 2, 3, 4, 5, 6, 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := openNew(t)
				release := occupy(t, db)
				var others, urgent []<-chan answer
				for range tt.others {
					others = append(others, appendLater(t, db, send(0)))
				}
				for range tt.urgent {
					urgent = append(urgent, urgentLater(t, db, send(0)))
				}
				release()
				if diff := cmp.Diff(tt.wantUrgent, seqs(t, urgent)); diff != "" {
					t.Errorf("urgent (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.wantOthers, seqs(t, others)); diff != "" {
					t.Errorf("others (-want +got):\n%s", diff)
				}
				verify(t, db, int64(tt.others+tt.urgent))
			})
		})
	}
}

// decideLater queues a decision that takes so long.
func decideLater(ctx context.Context, db *sqlite.DB, takes time.Duration) <-chan answer {
	return later(func() (eventstore.Result, error) {
		return db.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
			<-time.After(takes)
			return []eventstore.StreamAppend{send(0)}, nil
		})
	})
}

// A batch under way takes an urgent append next, and is committed soon after it.
func TestUrgentAppendJoinsTheBatchUnderWayAndEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		db := record(t, r)
		release := occupy(t, db)
		var others []<-chan answer
		for range 12 {
			others = append(others, decideLater(t.Context(), db, 700*time.Microsecond))
		}
		release()
		<-time.After(time.Millisecond) // the second is under way
		start := time.Now()
		urgent := decideLater(eventstore.Urgent(t.Context()), db, 0)
		if got := seqs(t, []<-chan answer{urgent}); got[0] != 3 {
			t.Errorf("the urgent one is event %d", got[0])
		}
		if took := time.Since(start); took > 2*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if diff := cmp.Diff([]int64{1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, seqs(t, others)); diff != "" {
			t.Errorf("others (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{5, 8}, r.committed); diff != "" {
			t.Errorf("events of each commit (-want +got):\n%s", diff)
		}
		verify(t, db, 13)
	})
}

// Appenders who are always urgent do not keep others from being stored, nor maintenance, nor read models from being
// written.
func TestUrgentAppendsStarveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &readModel{}
		db := model(t, m)
		ctx, end := context.WithCancel(eventstore.Urgent(t.Context()))
		release := occupy(t, db)
		var urgent []<-chan answer
		for range 8 {
			urgent = append(urgent, later(func() (last eventstore.Result, err error) {
				for ctx.Err() == nil {
					if last, err = db.Decide(context.WithoutCancel(ctx), func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
						<-time.After(100 * time.Microsecond)
						return []eventstore.StreamAppend{send(0)}, nil
					}); err != nil {
						return last, err
					}
				}
				return last, nil
			}))
		}
		other := appendLater(t, db, send(0))
		maintained := later(func() (eventstore.Result, error) {
			return eventstore.Result{}, db.Exclusive(t.Context(), func(eventstore.Tx) error { return nil }, nil)
		})
		release()
		if got := seqs(t, []<-chan answer{other}); got[0] > 10 {
			t.Errorf("the other one is event %d", got[0])
		}
		if got := <-maintained; got.err != nil {
			t.Errorf("maintenance: %v", got.err)
		}
		before := m.Written()
		for m.Written() == before { // else it waits for good
			<-time.After(time.Millisecond)
		}
		end()
		seqs(t, urgent)
	})
}
