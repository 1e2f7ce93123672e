package tasks_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// model is what tasks with events should be, kept as simply as can be: in the order in which they were started.
type model struct {
	tasks       []*task.Task
	progress    map[string][]string
	delegations map[string][]*task.Delegation
	versions    map[string]int64
}

func (m *model) find(id string) *task.Task {
	for _, t := range m.tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// modelTasks are the tasks that there may be, and whose they are.
var modelTasks = []struct{ id, agent string }{{"task_a", "eden"}, {"task_b", "eden"}, {"task_c", "seum"}, {"이름 / d", "seum"}, {"task_e", "eden"}}

// stepTexts are what steps say: some of it has escapes in JSON, or looks like the JSON around it.
var stepTexts = []string{"x", "단계 하나", `a "step" \ of two`, "<b>\u2028</b>", "two\nlines", `","status":"done`, "}, {", "[]"}

// drawn is an event of a task, or, where id is "", one that changes none that the model has.
type drawn struct {
	id     string
	append eventstore.StreamAppend
}

func drawEvent(t *rapid.T) drawn {
	m := rapid.SampledFrom(modelTasks).Draw(t, "task")
	step := func() coordination.TaskStep {
		n := rapid.IntRange(1, 3).Draw(t, "step")
		return coordination.TaskStep{ID: fmt.Sprint("s", n), Content: rapid.SampledFrom(stepTexts).Draw(t, "content"), Order: n,
			Status: rapid.SampledFrom([]string{"pending", "in_progress", "done"}).Draw(t, "step state")}
	}
	line := rapid.SampledFrom([]string{"", "a line", "줄\n바꿈"}).Draw(t, "line")
	state := coordination.TaskState{Progress: line, Reason: "why"}
	switch do := rapid.SampledFrom([]string{"started", "started", "backlog_added", "updated", "updated", "updated", "blocked", "resumed", "approved", "backlog_picked",
		"completed", "cancelled", "zombie", "delegation", "delegation", "imported", "file", "file", "current", "month"}).Draw(t, "do"); do {
	case "started":
		return drawn{m.id, started(1, m.id, m.agent, func(d *coordination.TaskStarted) {
			d.RequiresApproval = rapid.Bool().Draw(t, "approval")
			d.Priority = rapid.SampledFrom([]string{"urgent", "low"}).Draw(t, "priority")
		})}
	case "backlog_added":
		return drawn{m.id, backlog(2, m.id, "dajim", m.agent, func(d *coordination.TaskBacklogAdded) {
			d.DueDate = rapid.SampledFrom([]string{"", "2026-02-28", "2026-03-01T09:00:00+09:00", "someday"}).Draw(t, "due")
		})}
	case "updated":
		return drawn{m.id, updated(3, m.id, m.agent, line, step())}
	case "blocked":
		return drawn{m.id, blocked(4, m.id, m.agent, "dajim")}
	case "zombie":
		action := rapid.SampledFrom([]string{coordination.ZombieMovedToBacklog, coordination.ZombieEscalated}).Draw(t, "action")
		return drawn{m.id, event(5, coordination.TypeZombieAbandoned, m.id, m.agent, coordination.ZombieAbandoned{Action: action})}
	case "delegation":
		typ := rapid.SampledFrom([]string{"spawned", "running", "completed", "failed", "retrying", "verified"}).Draw(t, "type")
		return drawn{m.id, delegated(6, "delegation."+typ, m.id, coordination.Delegation{DelegationID: "d-" + m.id, FromAgent: m.agent, ToAgent: "dajim", Reason: "why"})}
	case "imported":
		return drawn{"", asImport(updated(7, m.id, m.agent, "of another log", step()))}
	case "file":
		path := fmt.Sprintf("workspace-miri/tasks/task_%d.md", rapid.IntRange(0, 2).Draw(t, "file"))
		if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
			return drawn{"", unlinked(9, path)}
		}
		how := rapid.SampledFrom([]func(int64, string, string) eventstore.StreamAppend{imported, changed}).Draw(t, "how")
		status := rapid.SampledFrom([]string{"in_progress", "blocked", "completed", "unheard_of"}).Draw(t, "file state")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 4).Draw(t, "lines")
		return drawn{"", how(10, path, text("", status, lines...))}
	case "current":
		return drawn{"", changed(11, "workspace-miri/CURRENT_TASK.md", "**Focus:** task_1\n")}
	case "month":
		return drawn{"", changed(12, "workspace-miri/task-history/2026-02.md", month(ended("task_1", "2026-02-18T12:00:00.000Z"), ended("", "2026-02-18T12:00:00.000Z")))}
	default:
		return drawn{m.id, change(13, "task."+do, m.id, m.agent, state)}
	}
}

// fold is what an event does to the model. seq is what the log has given it.
func (m *model) fold(t *rapid.T, d drawn, seq int64) {
	stream, e := d.append.Stream, d.append.Events[0]
	m.versions[stream]++
	if d.id == "" {
		return
	}
	x := m.find(d.id)
	if x == nil {
		if e.Type != coordination.TypeTaskStarted && e.Type != coordination.TypeTaskBacklogAdded {
			return
		}
		x = &task.Task{}
		m.tasks = append(m.tasks, x)
	}
	lines := x.ProgressCount
	if _, err := x.Apply(e.Type, e.AgentID, e.Data, seq, m.versions[stream], e.TS); err != nil {
		t.Fatal(err)
	}
	if x.ProgressCount > lines {
		m.progress[d.id] = append(m.progress[d.id], x.Progress)
	}
	if !strings.HasPrefix(e.Type, "delegation.") {
		return
	}
	if len(m.delegations[d.id]) == 0 && e.Type == coordination.TypeDelegationSpawned {
		m.delegations[d.id] = []*task.Delegation{{}}
	}
	for _, one := range m.delegations[d.id] {
		if _, err := one.Apply(e.Type, e.Data, seq, e.TS); err != nil {
			t.Fatal(err)
		}
	}
}

// inOrder is the order of lists.
func inOrder(a, b *task.Task) int {
	rank := func(t *task.Task) int { return slices.Index([]string{"urgent", "high", "medium", "low"}, t.Priority) }
	due := func(t *task.Task) float64 {
		if ms, ok := coordination.ParseTime(t.Backlog.DueDate); ok {
			return ms
		}
		return 1e15
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(due(a), due(b)), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Seq, b.Seq))
}

// lines describes the model as got describes a log.
func (m *model) lines() (lines []string) {
	var open, over []*task.Task
	for _, x := range m.tasks {
		lines = append(lines, fmt.Sprintf("%+v %q", *x, m.progress[x.ID]))
		for _, d := range m.delegations[x.ID] {
			lines = append(lines, fmt.Sprintf("%+v", *d))
		}
		if x.Terminal() {
			over = append(over, x)
		} else {
			open = append(open, x)
		}
	}
	slices.SortStableFunc(open, inOrder)
	slices.SortStableFunc(over, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(b.EndedAt, a.EndedAt), cmp.Compare(b.Seq, a.Seq))
	})
	for _, agent := range []string{"eden", "seum"} {
		focus, n := &task.Task{}, 0
		for _, x := range open {
			if x.Agent != agent {
				continue
			}
			n++
			if x.Status == coordination.StateInProgress && x.Focus > focus.Focus {
				focus = x
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %d open, at %s in %s", agent, n, focus.ID, focus.WorkSessionID))
	}
	var ids []string
	for _, x := range slices.Concat(open, over) {
		ids = append(ids, x.ID)
	}
	return append(lines, strings.Join(ids, " "))
}

func (l *log) got(t *rapid.T, m *model) (lines []string) {
	rows := map[string]*tasks.Row{}
	var ids []string
	err := l.View(context.Background(), func(tx *sql.Tx) error {
		for _, x := range m.tasks {
			row, _, err := tasks.ByID(context.Background(), tx, x.ID)
			if err != nil {
				return err
			}
			rows[x.ID] = row
		}
		f := tasks.Filter{Agents: []string{"eden", "seum"}, Limit: 2}
		for page := 0; page == 0 || f.After != ""; page++ {
			found, next, err := tasks.List(context.Background(), tx, f)
			if err != nil {
				return err
			}
			for _, x := range found {
				ids = append(ids, x.ID)
			}
			f.After = next
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		lines = nil
		for _, x := range m.tasks {
			found, known, err := tasks.Load(tx, x.ID)
			if err != nil || !known {
				return nil, fmt.Errorf("%s is known: %v, %w", x.ID, known, err)
			}
			lines = append(lines, fmt.Sprintf("%+v %q", *found, rows[x.ID].Progress))
			delegations, err := tasks.DelegationsOf(tx, x.ID)
			if err != nil {
				return nil, err
			}
			for _, d := range delegations {
				lines = append(lines, fmt.Sprintf("%+v", d))
			}
		}
		for _, agent := range []string{"eden", "seum"} {
			n, err := tasks.OpenOf(tx, agent)
			if err != nil {
				return nil, err
			}
			focus, workSession, err := tasks.Focus(tx, agent)
			if err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: %d open, at %s in %s", agent, n, focus, workSession))
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, strings.Join(ids, " "))
}

// Whatever happens to tasks and files, the tables are as a simple model has them, however the events were cut into batches, and after a rebuild they
// are the same.
func TestInvariant21_RebuiltTasksAreTheSame(t *testing.T) {
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
		m := &model{progress: map[string][]string{}, delegations: map[string][]*task.Delegation{}, versions: map[string]int64{}}
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 50).Draw(rt, "events")
		for rest, batch := events, 1; len(rest) > 0; batch++ {
			n := min(rapid.IntRange(1, 10).Draw(rt, "batch"), len(rest))
			var appends []eventstore.StreamAppend
			for i, d := range rest[:n] {
				appends = append(appends, d.append)
				m.fold(rt, d, int64(len(events)-len(rest)+i+1))
			}
			l.append(t, appends...)
			rest = rest[n:]
			if batch%5 == 0 {
				l.reopen(t)
			}
			if diff := gocmp.Diff(m.lines(), l.got(rt, m)); diff != "" {
				rt.Fatalf("after %d of %d, -model +log:\n%s", len(events)-len(rest), len(events), diff)
			}
		}
		stored, err := l.Read(t.Context(), 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		live := l.dump(t)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "other.db"))
		other := openAt(t, filepath.Join(dir, "other.db"))
		defer other.close(t)
		for rest := stored; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "other batch")
			if err := other.Restore(t.Context(), rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		for how, tables := range map[string][]string{"in other batches": other.dump(t), "rebuilt": l.dump(t)} {
			if diff := gocmp.Diff(live, tables); diff != "" {
				rt.Fatalf("tables %s (-live +%s):\n%s", how, how, diff)
			}
		}
	})
}
