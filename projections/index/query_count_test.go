package index_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// hour is the beginning of an hour, ms since 1970.
const hour = 1_771_588_800_000

var countedTypes = []string{"a2a.send", "a2a.response", "task.started"}

// timedLog is a log of events of three types at these times.
func timedLog(t *testing.T, times []int64) *sqlite.DB {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, index.Definition(coordination.RulesV2))
	a := eventstore.StreamAppend{Stream: "log"}
	for i, ts := range times {
		a.Events = append(a.Events, eventstore.NewEvent{Type: countedTypes[i%len(countedTypes)], AgentID: "eden", TS: ts, Data: []byte(`{}`)})
	}
	if _, err := db.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return db
}

type found struct {
	Matched int64
	Newest  []int64
}

func selectTimed(t *testing.T, db *sqlite.DB, f index.Filter) found {
	t.Helper()
	return projectiontest.Read(t, db, func(ctx context.Context, tx *sql.Tx) (r found, err error) {
		s, err := index.Select(ctx, tx, f)
		if err != nil {
			return r, err
		}
		r.Matched = s.Matched
		r.Newest, err = s.Newest(ctx, tx, 1<<60, 1<<20)
		return r, err
	})
}

// Events between two times are counted exactly, whatever the order of their times in the log.
func TestEventsBetweenTwoTimesAreCounted(t *testing.T) {
	t.Parallel()
	const n = 2_000
	for name, late := range map[string]int64{"in order": 0, "nearly in order": 60_000, "in no order": 4 * index.HourMs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 7))
			times := make([]int64, n)
			for i := range times {
				times[i] = hour + int64(i)*7_000 // nearly four hours
				if late > 0 {
					times[i] -= r.Int64N(late)
				}
			}
			db := timedLog(t, times)
			bound := func() *float64 {
				ms := float64(hour + r.Int64N(5*index.HourMs) - index.HourMs/2)
				return &ms
			}
			for _, c := range []struct{ since, until *float64 }{{bound(), nil}, {nil, bound()}, {bound(), bound()}, {bound(), bound()}, {bound(), bound()}} {
				var want found
				for i, ts := range times {
					if i%len(countedTypes) == 0 && (c.since == nil || float64(ts) >= *c.since) && (c.until == nil || float64(ts) <= *c.until) {
						want.Matched++
						want.Newest = append(want.Newest, int64(i+1))
					}
				}
				got := selectTimed(t, db, index.Filter{Types: countedTypes[:1], Since: c.since, Until: c.until})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("since %v until %v (-want +got):\n%s", show(c.since), show(c.until), diff)
				}
			}
		})
	}
}

func show(ms *float64) string {
	if ms == nil {
		return "ever"
	}
	return fmt.Sprint((*ms - hour) / 1_000)
}

// Of an hour with thousands of events only those beside the bound are read: what others hold in the table of events does not matter.
func TestOnlyEventsBesideABoundAreRead(t *testing.T) {
	t.Parallel()
	const n, step = 3_500, 1_000
	times := make([]int64, n)
	for i := range times {
		times[i] = hour + int64(i)*step
	}
	db := timedLog(t, times)
	const since = 2_000
	ms := float64(hour + since*step)
	count := func() int64 {
		return projectiontest.Read(t, db, func(ctx context.Context, tx *sql.Tx) (int64, error) {
			s, err := index.Select(ctx, tx, index.Filter{Since: &ms})
			if err != nil {
				return 0, err
			}
			return s.Matched, nil
		})
	}
	if got := count(); got != n-since {
		t.Fatalf("%d events, want %d", got, n-since)
	}
	block := int64(since+1) / index.BlockSize
	change := func(statement string, args ...any) {
		t.Helper()
		err := db.Exclusive(t.Context(), func(tx eventstore.Tx) error {
			_, err := tx.Exec(statement, args...)
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	change("UPDATE event_index SET time = time - 1e9 WHERE seq / ? <> ?", int64(index.BlockSize), block)
	if got := count(); got != n-since {
		t.Errorf("events away from the bound were read: %d events, want %d", got, n-since)
	}
	change("UPDATE event_index SET time = time + 1e9 WHERE seq / ? <> ?", int64(index.BlockSize), block)
	change("DELETE FROM block_times") // as it is between an update and the end of the rebuild
	if got := count(); got != n-since {
		t.Errorf("without the times of blocks: %d events, want %d", got, n-since)
	}
}
