package projections_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
)

// loadEvents is how many events are appended beside rebuilds.
var loadEvents = testscale.Of(200, 1_200)

// talk is message i of a lively team.
func talk(i int) eventstore.NewEvent {
	types := []string{"a2a.send", "a2a.response", "a2a.complete", "task.started", "task.completed", "a2a.spawn"}
	agents := []string{"main", "ruda", "eden"}
	return event(types[i%len(types)], int64(i)*100_000, map[string]any{
		"workSessionId": fmt.Sprintf("ws_%d", i/20), "conversationId": fmt.Sprintf("c%d", i/6), "fromAgent": agents[i%3], "toAgent": agents[(i+1)%3],
		"taskId": fmt.Sprintf("t%d", i/4), "message": fmt.Sprintf("배포 %d 을 검토해 주세요", i),
	})
}

func talks(n int) []eventstore.NewEvent {
	events := make([]eventstore.NewEvent, n)
	for i := range events {
		events[i] = talk(i)
	}
	return events
}

// manners are every pace and manner of rebuilding.
var manners = []struct {
	name string
	opts projections.RebuildOptions
}{
	{"offline", projections.RebuildOptions{}},
	{"live", projections.RebuildOptions{Live: true}},
}

// objects lists tables and indexes.
func (b *bundle) objects(t testing.TB) []string {
	t.Helper()
	return b.texts(t, `SELECT type || ' ' || name FROM sqlite_schema WHERE type IN ('table', 'index') ORDER BY 1`)
}

// other is what objects gives after an odd number of rebuilds: the indexes of projections have their other names.
func other(objects []string) []string {
	renamed := slices.Clone(objects)
	for i, o := range renamed {
		if strings.HasPrefix(o, "index ") && !strings.HasPrefix(o, "index sqlite_") && !strings.HasPrefix(o, "index events_") {
			renamed[i] = o + "_b"
		}
	}
	slices.Sort(renamed)
	return renamed
}

// views tells how many rows each view has.
func (b *bundle) views(t testing.TB) (lines []string) {
	t.Helper()
	for _, view := range b.texts(t, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name") {
		lines = append(lines, b.texts(t, "SELECT '"+view+" '||count(*) FROM (SELECT * FROM "+view+")")...)
	}
	return lines
}

// plans are those of a query for each index of a projection.
func (b *bundle) plans(t testing.TB) string {
	t.Helper()
	return strings.Join(slices.Concat(
		b.plan(t, "SELECT 1 FROM facet_blocks WHERE facet_id = 1 AND block < 5"),
		b.plan(t, "SELECT 1 FROM threads WHERE outcome IN ('blocked', 'no_reply') AND last_time > 5"),
		b.plan(t, "SELECT 1 FROM list_slots WHERE list = '1' AND slot > 1"),
		b.plan(t, "SELECT 1 FROM session_profiles WHERE previous = 'x' AND previous <> ''"),
		b.plan(t, "SELECT 1 FROM routes WHERE route_key = 'x'"),
		b.plan(t, "SELECT 1 FROM work_sessions WHERE name = 'x'"),
	), "\n")
}

func (b *bundle) plan(t testing.TB, query string) (steps []string) {
	t.Helper()
	b.rows(t, "EXPLAIN QUERY PLAN "+query, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	})
	return steps
}

func (b *bundle) texts(t testing.TB, query string) (list []string) {
	t.Helper()
	b.rows(t, query, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		list = append(list, text)
		return err
	})
	return list
}

func (b *bundle) rows(t testing.TB, query string, scan func(*sql.Rows) error) {
	t.Helper()
	err := b.View(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestCancelledRebuildCanBeStartedAgain(t *testing.T) {
	t.Parallel()
	for _, m := range manners {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, definitions()...)
			b.engine.SetPace(10, 10, 10)
			b.append(t, talks(100)...)
			before := b.dump(t)
			ctx, cancel := context.WithCancel(t.Context())
			opts := m.opts
			opts.Progress = func(done, _ int64) {
				if done >= 30 {
					cancel()
				}
			}
			if err := b.engine.Rebuild(ctx, opts); !errors.Is(err, context.Canceled) {
				t.Fatalf("a cancelled rebuild: %v", err)
			}
			wantSame(t, "tables after the cancelled rebuild", b.dump(t), before)
			for name, s := range b.statuses(t) {
				if s.State != projections.Live {
					t.Errorf("%s is %s", name, s.State)
				}
			}
			b.append(t, talk(100)) // the old tables live on
			want := b.dump(t)
			b.rebuild(t, m.opts)
			wantSame(t, "tables after another one", b.dump(t), want)
			if left := b.texts(t, "SELECT name FROM sqlite_schema WHERE name LIKE 'shadow%'"); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestRebuildOfAnUnknownProjection(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	err := b.engine.Rebuild(t.Context(), projections.RebuildOptions{Names: []string{"index", "nonsense"}})
	unknown := wantAs[*projections.UnknownError](t, err)
	want := &projections.UnknownError{Name: "nonsense", Known: []string{"route", "session", "run", "work", "a2a", "task", "continuation", "schedule", "permission", "plan",
		"routing", "response", "index", "conversation"}}
	if diff := cmp.Diff(want, unknown); diff != "" || unknown.Hint() == "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestRebuildOfAnEmptyLog(t *testing.T) {
	t.Parallel()
	for _, m := range manners {
		b := setup(t, definitions()...)
		b.rebuild(t, m.opts)
		b.append(t, talk(0))
		wantSame(t, "tables", b.dump(t), b.replayed(t))
	}
}

// Appends go on during a rebuild, and the tables are then those of the whole log.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.engine.SetPace(100, 100, 100)
	b.append(t, talks(300)...)
	rebuildUnderLoad(t, b, 8, loadEvents)
}

// rebuildUnderLoad rebuilds again and again until so many events have been appended.
func rebuildUnderLoad(t *testing.T, b *bundle, appenders, events int) {
	t.Helper()
	var (
		working sync.WaitGroup
		mu      sync.Mutex
		longest time.Duration
	)
	done := make(chan struct{})
	for a := range appenders {
		working.Go(func() {
			for i := a; i < events; i += appenders {
				start := time.Now()
				if _, err := b.Append(t.Context(), eventstore.StreamAppend{Stream: fmt.Sprint("s", a), Events: []eventstore.NewEvent{talk(i)}}); err != nil {
					t.Errorf("append beside a rebuild: %v", err)
					return
				}
				mu.Lock()
				longest = max(longest, time.Since(start))
				mu.Unlock()
			}
		})
	}
	go func() { working.Wait(); close(done) }()
	rebuilds := 0
	for appending := true; appending; rebuilds++ {
		if err := b.engine.Rebuild(t.Context(), projections.RebuildOptions{Live: true}); err != nil {
			t.Errorf("rebuild %d: %v", rebuilds+1, err)
			break
		}
		select {
		case <-done:
			appending = false
		default:
		}
	}
	<-done
	t.Logf("%d rebuilds while %d appenders stored %d events; the longest append took %s", rebuilds, appenders, events, longest)
	for name, s := range b.statuses(t) {
		if s.State != projections.Live || s.Lag != 0 {
			t.Errorf("status of %s is %+v", name, s)
		}
	}
	if diff := cmp.Diff(b.replayed(t), b.dump(t)); diff != "" {
		t.Errorf("tables (-rebuilt +live):\n%.4000s", diff)
	}
}
