package workqueue_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Each history leads to those items, in the order of their keys.
func TestHistories(t *testing.T) {
	t.Parallel()
	lease := func(id string) eventstore.StreamAppend {
		return event(id, coordination.TypeWorkLeased, `"leaseUntilMs":50`)
	}
	queued := func(id, more string) eventstore.StreamAppend {
		return event("run/"+id, coordination.TypeRunQueued, fmt.Sprintf(`"runId":%q,"sessionKey":"agent:eden:main","lane":"main"%s`, id, more))
	}
	flow := func(id string, due int) eventstore.StreamAppend {
		return event("job/"+id, coordination.TypeA2AJobCreated, fmt.Sprintf(`"jobId":%q,"toAgent":"seum","dueAtMs":%d`, id, due))
	}
	imported := ask("e1", "k", "", 0)
	imported.Events[0].Actor = eventstore.ActorImport
	elsewhere := ask("e1", "k", "", 0)
	elsewhere.Stream = "log"
	for name, c := range map[string]struct {
		given []eventstore.StreamAppend
		want  []string
	}{
		"asked for":       {[]eventstore.StreamAppend{ask("e1", "k", "eden", 0), ask("e2", "k", "", 9)}, []string{"e1 waiting", "e2 waiting due 9"}},
		"asked for twice": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e1", "other", "", 0)}, []string{"e1 waiting"}},
		"done and asked for": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), lease("e1"), event("e1", coordination.TypeWorkCompleted, ""),
			ask("e1", "k", "", 0)}, nil},
		"imported":       {[]eventstore.StreamAppend{imported}, nil},
		"in a wrong log": {[]eventstore.StreamAppend{elsewhere}, nil},
		"leased":         {[]eventstore.StreamAppend{ask("e1", "k", "", 0), lease("e1")}, []string{"e1 leased attempt 1 until 50"}},
		"leased twice":   {[]eventstore.StreamAppend{ask("e1", "k", "", 0), lease("e1"), lease("e1")}, []string{"e1 leased attempt 1 until 50"}},
		"leased out of turn": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), lease("e2")},
			[]string{"e1 waiting", "e2 waiting"}},
		"lease of nothing":  {[]eventstore.StreamAppend{lease("e1")}, nil},
		"return of nothing": {[]eventstore.StreamAppend{event("e1", coordination.TypeWorkReleased, `"dueAtMs":7`)}, nil},
		"put off": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), event("e1", coordination.TypeWorkReleased, `"dueAtMs":7`)},
			[]string{"e1 waiting due 7", "e2 waiting"}},
		"put off again, to an earlier time": {[]eventstore.StreamAppend{ask("e1", "k", "", 9), event("e1", coordination.TypeWorkReleased, `"dueAtMs":7`)},
			[]string{"e1 waiting due 7"}},
		"dead and put off": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), event("e1", coordination.TypeWorkDead, `"error":"no"`),
			event("e1", coordination.TypeWorkReleased, `"dueAtMs":7`)}, []string{"e1 dead error no"}},
		"released": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), lease("e1"),
			event("e1", coordination.TypeWorkReleased, `"dueAtMs":7,"error":"no"`)}, []string{"e1 waiting due 7 attempt 1 error no", "e2 waiting"}},
		"expired": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), lease("e1"), event("e1", coordination.TypeWorkLeaseExpired, `"reason":"lease"`)},
			[]string{"e1 waiting attempt 1"}},
		"completed twice": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), lease("e1"),
			event("e1", coordination.TypeWorkCompleted, ""), event("e1", coordination.TypeWorkCompleted, "")}, []string{"e2 waiting"}},
		"cancelled in the middle": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), ask("e3", "k", "", 0),
			event("e2", coordination.TypeWorkCancelled, "")}, []string{"e1 waiting", "e3 waiting"}},
		"dead": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), lease("e1"),
			event("e1", coordination.TypeWorkDead, `"error":"no"`)}, []string{"e2 waiting", "e1 dead attempt 1 error no"}},
		"dead and cancelled": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), event("e1", coordination.TypeWorkDead, ""),
			event("e1", coordination.TypeWorkCancelled, "")}, nil},
		"resent": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), lease("e1"), event("e1", coordination.TypeWorkDead, `"error":"no"`),
			event("e1", coordination.TypeWorkResent, "")}, []string{"e2 waiting", "e1 waiting"}},
		"resent alive": {[]eventstore.StreamAppend{ask("e1", "k", "", 0), ask("e2", "k", "", 0), event("e1", coordination.TypeWorkResent, "")},
			[]string{"e1 waiting", "e2 waiting"}},
		"a run for later": {[]eventstore.StreamAppend{queued("r1", `,"dueAtMs":7`), queued("r2", "")}, []string{"run/r1 waiting due 7", "run/r2 waiting"}},
		"flows": {[]eventstore.StreamAppend{flow("j1", 5), flow("j2", 6), flow("j3", 7), flow("j4", 8), flow("j5", 9), flow("흐름 6", 10),
			event("job/j1", coordination.TypeA2AJobRunning, `"phase":"turn","dueAtMs":50`), event("job/j2", coordination.TypeA2AJobCompleted, ""),
			event("job/j3", coordination.TypeA2AJobFailed, ""), event("job/j4", coordination.TypeA2AJobAbandoned, ""),
			event("job/j5", coordination.TypeA2AJobCancelled, ""), event("job/흐름 6", coordination.TypeA2AJobResumed, "")},
			[]string{"job/j1 waiting due 50", "job/흐름 6 waiting due 10"}},
		"a flow that posts": {[]eventstore.StreamAppend{flow("j1", 5), event("job/j1", coordination.TypeWorkLeased, `"leaseUntilMs":50`),
			event("job/j1", coordination.TypeA2AJobRunning, `"phase":"posting","dueAtMs":60`)}, []string{"job/j1 waiting due 60 attempt 1"}},
		"a run": {[]eventstore.StreamAppend{queued("r1", ""), queued("r2", ""), event("run/r1", coordination.TypeRunStarted, "")},
			[]string{"run/r1 leased attempt 1", "run/r2 waiting"}},
		"runs that end": {[]eventstore.StreamAppend{queued("r1", ""), queued("r2", ""), queued("r3", ""), queued("r4", ""), queued("한 r5", ""),
			event("run/r1", coordination.TypeRunEnded, ""), event("run/r2", coordination.TypeRunFailed, ""), event("run/r3", coordination.TypeRunAborted, ""),
			event("run/r4", coordination.TypeRunTimedOut, "")}, []string{"run/한 r5 waiting"}},
		"a run again": {[]eventstore.StreamAppend{queued("r1", ""), queued("r2", ""), event("run/r1", coordination.TypeRunStarted, ""),
			event("run/r1", coordination.TypeRunAborted, ""), queued("r1b", `,"retryOf":"r1"`)}, []string{"run/r1b waiting", "run/r2 waiting"}},
		"a run again, early": {[]eventstore.StreamAppend{queued("r1", ""), queued("r2", ""), event("run/r1", coordination.TypeRunStarted, ""),
			queued("r1b", `,"retryOf":"r1"`)}, []string{"run/r1 leased attempt 1", "run/r1b waiting", "run/r2 waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			l.append(t, c.given...)
			if diff := cmp.Diff(c.want, l.inOrder(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// inOrder describes the items along the lists of their keys, then those that are dead.
func (l *log) inOrder(t testing.TB) (lines []string) {
	t.Helper()
	describe := func(i workqueue.Item) string {
		s := i.EffectID + " " + string(i.State)
		for _, f := range []struct {
			name string
			n    int64
		}{{"due", i.DueAt}, {"attempt", int64(i.Attempt)}, {"until", i.LeaseUntil}} {
			if f.n != 0 {
				s += fmt.Sprintf(" %s %d", f.name, f.n)
			}
		}
		if i.Error != "" {
			s += " error " + i.Error
		}
		return s
	}
	byStream, after := map[string]workqueue.Item{}, map[string]string{}
	var firsts []string
	projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (struct{}, error) {
		err := texts(ctx, tx, "SELECT stream, effect_id, after FROM work", func(s []string) error {
			i, _, err := workqueue.ByID(ctx, tx, s[1])
			byStream[s[0]], after[s[0]] = i, s[2]
			return err
		})
		if err == nil {
			err = texts(ctx, tx, "SELECT first, '', '' FROM work_keys ORDER BY key", func(s []string) error {
				firsts = append(firsts, s[0])
				return nil
			})
		}
		return struct{}{}, err
	})
	for _, stream := range firsts {
		for ; stream != ""; stream = after[stream] {
			lines = append(lines, describe(byStream[stream]))
		}
	}
	for _, i := range l.list(t, workqueue.Query{State: workqueue.Dead}) {
		lines = append(lines, describe(i))
	}
	return lines
}

func texts(ctx context.Context, tx *sql.Tx, query string, each func([]string) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	var found [][]string
	for rows.Next() {
		s := make([]string, 3)
		if err := rows.Scan(&s[0], &s[1], &s[2]); err != nil {
			return err
		}
		found = append(found, s)
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for _, s := range found {
		if err := each(s); err != nil {
			return err
		}
	}
	return rows.Err()
}

// What has ended stays so after a redaction and a rebuild.
func TestRedactionBringsNothingBack(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, ask("e1", "k", "eden", 0), event("e1", coordination.TypeWorkLeased, ""), event("e1", coordination.TypeWorkCompleted, `"result":{}`),
		ask("e2", "k", "eden", 0), event("e2", coordination.TypeWorkDead, `"error":"secret"`), ask("e3", "k", "eden", 0), ask("e4", "k", "eden", 0))
	for seq := range int64(6) {
		if seq == 0 || seq == 3 {
			continue // what asks for e1 and e2
		}
		if err := l.Redact(t.Context(), seq+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e4 waiting", "e2 dead"}, l.inOrder(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Owners take turns, only first items of idle keys that are due are ready, and kinds can be chosen.
func TestReady(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, ask("a1", "ka1", "a", 0), ask("a2", "ka2", "a", 0), ask("a2b", "ka2", "a", 0), ask("a3", "ka3", "a", 0), ask("a4", "ka4", "a", 20),
		ask("b1", "kb1", "b", 0), ask("b2", "kb2", "b", 10), ask("c1", "kc1", "", 0),
		event("o1", coordination.TypeWorkScheduled, `"effectId":"o1","kind":"other","key":"ko","pool":"p","owner":"a"`))
	if got, want := l.ready(t, "p", 15, 99, "k"), []string{"a1", "b1", "c1", "a2", "b2", "a3"}; !slices.Equal(got, want) {
		t.Errorf("ready: %v, want %v", got, want)
	}
	if got, want := l.ready(t, "p", 25, 3), []string{"a1", "b1", "c1"}; !slices.Equal(got, want) {
		t.Errorf("the first 3: %v, want %v", got, want)
	}
	l.append(t, event("a1", coordination.TypeWorkLeased, ""), event("a2", coordination.TypeWorkLeased, ""), event("c1", coordination.TypeWorkLeased, ""))
	if got, want := l.ready(t, "p", 25, 99), []string{"b1", "b2", "a3", "a4", "o1"}; !slices.Equal(got, want) {
		t.Errorf("with some leased: %v, want %v", got, want)
	}
	if got := l.ready(t, "q", 25, 99); got != nil {
		t.Errorf("of another pool: %v", got)
	}
	got := decide(t, l, func(tx eventstore.Tx) (workqueue.KeyState, error) { return workqueue.Of(tx, "ka2") })
	if want := (workqueue.KeyState{Waiting: 1, Leased: 1, Since: base}); got != want {
		t.Errorf("key: %+v, want %+v", got, want)
	}
	keys := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (map[string]workqueue.KeyState, error) {
		return workqueue.Keys(ctx, tx, []string{"ka1", "kb1", "none"})
	})
	if diff := cmp.Diff(map[string]workqueue.KeyState{"ka1": {Leased: 1}, "kb1": {Waiting: 1, Since: base}}, keys); diff != "" {
		t.Errorf("keys, -want +got:\n%s", diff)
	}
	lanes := projectiontest.Read(t, l, workqueue.Lanes)
	want := []workqueue.Lane{{"p", "", 0, 1, 0, 0}, {"p", "a", 4, 2, 0, base}, {"p", "b", 2, 0, 0, base}}
	if diff := cmp.Diff(want, lanes); diff != "" {
		t.Errorf("lanes, -want +got:\n%s", diff)
	}
	total := decide(t, l, func(tx eventstore.Tx) (workqueue.KeyState, error) { return workqueue.Total(tx, "k") })
	if want := (workqueue.KeyState{Waiting: 5, Leased: 3}); total != want {
		t.Errorf("total: %+v, want %+v", total, want)
	}
	if oldest := decide(t, l, func(tx eventstore.Tx) (int64, error) { return workqueue.Oldest(tx, "k") }); oldest != base {
		t.Errorf("the oldest was asked for at %d", oldest)
	}
	leased := l.list(t, workqueue.Query{State: workqueue.Leased})
	if len(leased) != 3 || leased[0].EffectID != "a1" || leased[0].State != workqueue.Leased {
		t.Errorf("leased: %+v", leased)
	}
	if list := l.list(t, workqueue.Query{Owner: "a", State: workqueue.Waiting, After: leased[0].Seq, Limit: 2}); len(list) != 2 || list[0].EffectID != "a2b" {
		t.Errorf("list: %+v", list)
	}
	if list := l.list(t, workqueue.Query{Key: "ka2"}); len(list) != 2 {
		t.Errorf("list of a key: %+v", list)
	}
}

// SQL users find what waits, with times that they can read.
func TestViews(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, ask("e1", "k", "eden", base+1), ask("e2", "k", "", 0))
	var rows []string
	projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (struct{}, error) {
		return struct{}{}, texts(ctx, tx, `SELECT effect_id || ' ' || state || ' ' || coalesce(owner, 'none'), since, coalesce(due_at, 'at once') FROM v_work
 UNION ALL SELECT pool || ' ' || kind || ' ' || waiting, '', coalesce(owner, 'none') FROM v_work_lanes`, func(s []string) error {
			rows = append(rows, fmt.Sprint(s))
			return nil
		})
	})
	want := []string{"[e1 waiting eden 2026-09-21T14:13:20.000Z 2026-09-21T14:13:20.001Z]", "[e2 waiting none 2026-09-21T14:13:20.000Z at once]",
		"[p k 1  none]", "[p k 1  eden]"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The oldest of a kind is what waits longest of that kind, whatever else waits in its pool, is leased or dead.
func TestOldest(t *testing.T) {
	t.Parallel()
	l := setup(t)
	at := func(ts int64, a eventstore.StreamAppend) eventstore.StreamAppend {
		a.Events[0] = a.Events[0].WithTS(ts)
		return a
	}
	queued := func(id, session string) eventstore.StreamAppend {
		return event("run/"+id, coordination.TypeRunQueued, fmt.Sprintf(`"runId":%q,"sessionKey":"agent:%s","lane":"main"`, id, session))
	}
	other := event("other", coordination.TypeWorkScheduled, `"effectId":"other","kind":"k","key":"k","pool":"main","owner":"eden"`)
	oldest := func(want int64) {
		t.Helper()
		if got := decide(t, l, func(tx eventstore.Tx) (int64, error) { return workqueue.Oldest(tx, workqueue.KindRun) }); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	l.append(t, at(1_000, other))
	oldest(0)
	l.append(t, at(2_000, queued("a", "eden:main")), at(3_000, queued("b", "eden:main")), at(4_000, queued("c", "seum:main")))
	oldest(2_000)
	l.append(t, at(5_000, event("run/a", coordination.TypeRunStarted, `"runId":"a"`)))
	oldest(3_000)
	l.append(t, at(6_000, event("run/b", coordination.TypeWorkDead, "")), at(6_000, event("run/a", coordination.TypeRunEnded, `"runId":"a"`)))
	oldest(4_000)
}
