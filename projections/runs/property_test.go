package runs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// model is what runs should be, kept as simply as can be: in the order in which they were asked for.
type model struct{ runs []*modelRun }

type modelRun struct {
	id, name, root string
	asked          int // the step that asked for the first of those that it repeats
	state          run.State
}

func (m *model) find(id string) *modelRun {
	for _, r := range m.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// step is one command.
type step struct {
	do   string // queue, start, retry, or a state to end in
	id   string
	name string // of the session
}

var (
	modelIDs      = []string{"a", "b", "c", "d", "e", "실행 / 1"}
	modelSessions = []string{"main", "other"}
)

func drawStep(t *rapid.T) step {
	return step{
		do:   rapid.SampledFrom([]string{"queue", "queue", "queue", "start", "start", "start", "retry", "ok", "error", "aborted", "timed_out"}).Draw(t, "do"),
		id:   rapid.SampledFrom(modelIDs).Draw(t, "id"),
		name: rapid.SampledFrom(modelSessions).Draw(t, "session"),
	}
}

// do is what the n-th step should lead to: a code of a refusal, or "".
func (m *model) do(n int, s step) (code string) {
	r := m.find(s.id)
	switch {
	case s.do == "queue" && r == nil:
		m.runs = append(m.runs, &modelRun{id: s.id, name: s.name, root: s.id, asked: n, state: run.Queued})
	case s.do == "queue", r == nil:
	case s.do == "start" && r.state == run.Queued:
		r.state = run.Running
	case s.do == "start":
	case s.do == "retry" && r.state == run.Running:
		r.state = run.Aborted
		m.runs = append(m.runs, &modelRun{id: "again" + strconv.Itoa(n), name: r.name, root: r.root, asked: r.asked, state: run.Queued})
	case s.do == "retry":
	case r.state.Over():
		return run.CodeOver
	case r.state == run.Queued && (s.do == "ok" || s.do == "timed_out"):
		return run.CodeNotBegun
	default:
		r.state = run.State(s.do)
	}
	return ""
}

// want describes the model as got describes a log.
func (m *model) want() (lines []string) {
	for _, r := range slices.Backward(m.runs) {
		lines = append(lines, fmt.Sprintf("%s of %s in %s is %s", r.id, r.root, r.name, r.state))
	}
	for _, id := range modelIDs {
		last := ""
		for _, r := range m.runs {
			if r.root == id {
				last = r.id
			}
		}
		lines = append(lines, "last of "+id+": "+last)
	}
	counts := map[run.State]int64{}
	for _, r := range m.runs {
		counts[r.state]++
	}
	for _, name := range modelSessions {
		var open []*modelRun
		for _, r := range m.runs {
			if r.name == name && !r.state.Over() {
				open = append(open, r)
			}
		}
		slices.SortStableFunc(open, func(a, b *modelRun) int { return a.asked - b.asked })
		var ids []string
		for _, r := range open {
			ids = append(ids, r.id)
		}
		lines = append(lines, fmt.Sprintf("open in %s: %q", name, ids))
	}
	return append(lines, fmt.Sprint(counts))
}

func (l *log) got(t testing.TB) (lines []string) {
	t.Helper()
	for _, r := range l.list(t, runs.Query{}) {
		_, name, _ := splitKey(r.SessionKey)
		lines = append(lines, fmt.Sprintf("%s of %s in %s is %s", r.RunID, run.RootOf(r.RunID, r.RetryOf), name, r.State))
	}
	l.deciding(t, func(tx eventstore.Tx) error {
		for _, id := range modelIDs {
			r, _, err := runs.LoadLast(tx, id)
			if err != nil {
				return err
			}
			lines = append(lines, "last of "+id+": "+r.RunID)
		}
		return nil
	})
	for _, name := range modelSessions {
		lines = append(lines, fmt.Sprintf("open in %s: %q", name, l.openOf(t, name)))
	}
	counts := projectiontest.Read(t, l, runs.Count)
	for s, n := range counts {
		if n == 0 {
			delete(counts, s)
		}
	}
	return append(lines, fmt.Sprint(counts))
}

func splitKey(key string) (agent, name string, err error) {
	k, err := coordination.ParseSessionKey(key)
	return k.Agent, k.ID, err
}

// command decides and appends, as the runner does.
func (l *log) command(t testing.TB, n int, s step) error {
	t.Helper()
	_, err := l.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		r, found, err := runs.Load(tx, s.id)
		if err != nil || found == (s.do == "queue") {
			return nil, err
		}
		q := coordination.RunQueued{RunID: r.RunID, SessionKey: r.SessionKey, RetryOf: r.RetryOf, Lane: r.Lane, Message: "hi"}
		switch s.do {
		case "queue":
			key := coordination.MainKey("eden")
			key.ID = s.name
			events, err := run.Accept(run.Ask{RunQueued: coordination.RunQueued{RunID: s.id, Message: "hi"}, Session: key})
			if err != nil {
				return nil, err
			}
			return []eventstore.StreamAppend{decided(s.id, int64(n), events[0])}, nil
		case "start":
			if r.State != run.Queued {
				return nil, nil
			}
			return []eventstore.StreamAppend{decided(s.id, int64(n), run.Start(&q, "t1", base+int64(n), 0, "fake/echo-1", ""))}, nil
		case "retry":
			if r.State != run.Running {
				return nil, nil
			}
			end, err := run.End(r, run.Aborted, coordination.RunOver{EndedAtMs: base + int64(n), Reason: "restart"})
			if err != nil {
				return nil, err
			}
			newID := "again" + strconv.Itoa(n)
			return []eventstore.StreamAppend{decided(s.id, int64(n), end), decided(newID, int64(n), run.Retry(q, newID))}, nil
		}
		end, err := run.End(r, run.State(s.do), coordination.RunOver{EndedAtMs: base + int64(n)})
		if err != nil {
			return nil, err
		}
		return []eventstore.StreamAppend{decided(s.id, int64(n), end)}, nil
	})
	return err
}

// Whatever is commanded, runs are as a simple model has them; and as a fold of the log in any other batches, or a rebuild, gives them. Each run
// that is over has exactly one event that ended it.
func TestRunsAreAsCommanded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "log.db"))
		l := openAt(t, filepath.Join(dir, "log.db"))
		defer func() { l.close(t) }()
		var m model
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 40).Draw(rt, "steps")
		for i, s := range steps {
			err := l.command(t, i, s)
			var refusal *run.Refusal
			if want := m.do(i, s); want == "" && err != nil || want != "" && (!errors.As(err, &refusal) || refusal.Reason != want) {
				rt.Fatalf("step %d, %+v: %v, want %q", i, s, err, want)
			}
			if i%13 == 12 {
				l.close(t)
				l = openAt(t, l.path)
			}
			if i%5 > 0 && i < len(steps)-1 {
				continue
			}
			if diff := cmp.Diff(m.want(), l.got(t)); diff != "" {
				rt.Fatalf("after step %d, %+v (-model +log):\n%s", i, s, diff)
			}
		}
		events, err := l.Read(t.Context(), 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		ends := map[string]int{}
		for _, e := range events {
			if to, _ := run.Next(run.Running, e.Type); to.Over() {
				ends[e.Stream]++
			}
		}
		for _, r := range m.runs {
			want := 0
			if r.state.Over() {
				want = 1
			}
			if n := ends[coordination.RunStream(r.id)]; n != want {
				rt.Fatalf("run %s is %s and has %d ends", r.id, r.state, n)
			}
		}
		live := l.dump(t)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "other.db"))
		other := openAt(t, filepath.Join(dir, "other.db"))
		defer other.close(t)
		for rest := events; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			if err := other.Restore(t.Context(), rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		for how, tables := range map[string][]string{"in other batches": other.dump(t), "rebuilt": l.dump(t)} {
			if diff := cmp.Diff(live, tables); diff != "" {
				rt.Fatalf("tables %s (-live +%s):\n%s", how, how, diff)
			}
		}
	})
}
