package tasksync_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/tasksync"
)

// others notes a file as it is found while another gateway keeps the tasks.
func (x *team) others(t testing.TB, name, text string) {
	t.Helper()
	x.write(t, name, text)
	data, err := json.Marshal(coordination.FileChanged{Path: name, Change: "change", Bytes: int64(len(text)), SHA256: tasksync.SumOf(text), Text: &text})
	must(t, err)
	_, err = x.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.FileStream(name), Events: []eventstore.NewEvent{
		{Type: coordination.TypeFileChanged, AgentID: "eden", TS: start, Data: data}}})
	must(t, err)
}

// What is edited after another gateway has had the files, while nothing runs, counts more than the events of the tasks before it, and stands.
func TestEditsAfterAnotherGatewayAreNotLost(t *testing.T) {
	t.Parallel()
	const (
		file    = "workspace-eden/tasks/task_a.md"
		current = "workspace-eden/CURRENT_TASK.md"
		month   = "workspace-eden/task-history/2026-02.md"
	)
	text := func(status, description string) string {
		return taskfile.Format(&taskfile.Task{ID: "task_a", Status: status, Priority: "medium", Description: description, Created: "2026-02-20T10:00:00.000Z",
			LastActivity: "2026-02-20T10:00:00.000Z"})
	}
	entry := func(id string) string {
		return taskfile.FormatEntry(&taskfile.Entry{Description: "what " + id + " was", TaskID: id, Started: "2026-02-20T10:00:00.000Z",
			Completed: "2026-02-20T11:00:00.000Z", Progress: []string{"Task completed"}, Summary: "done"})
	}
	for name, c := range map[string]struct {
		file, noted, edited string
		is                  func(t *testing.T, x *team) bool
		tail                string // of the text that is noted; "" is all
	}{
		"a task": {file, text("in_progress", "second"), text("blocked", "third"), func(t *testing.T, x *team) bool {
			row := x.row(t, "task_a")
			return row.Description == "third" && row.Status == coordination.StateBlocked
		}, ""},
		"what is in focus": {current, "**Focus:** task_b\n", "**Focus:** task_a\nin other words\n", func(t *testing.T, x *team) bool {
			return x.row(t, "task_a").Focus && !x.row(t, "task_b").Focus
		}, ""},
		"a month": {month, taskfile.MonthHeader("2026-02") + entry("task_x"), taskfile.MonthHeader("2026-02") + entry("task_x") + entry("task_a"),
			func(t *testing.T, x *team) bool { return x.row(t, "task_a").Status == coordination.StateCompleted }, entry("task_a")},
		"a month that is another one": {month, taskfile.MonthHeader("2026-02") + entry("task_x"), taskfile.MonthHeader("2026-02") + entry("task_a"),
			func(t *testing.T, x *team) bool { return x.row(t, "task_a").Status == coordination.StateCompleted }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			x := setup(t, t.TempDir())
			own := x.syncer(time.Millisecond)
			stop := x.running(t, own)
			must(t, x.begin(ctx, "eden", "task_a", "first", ""), x.begin(ctx, "eden", "task_b", "another one", ""))
			x.settled(t, own)
			stop()
			x.others(t, c.file, c.noted)
			x.write(t, c.file, c.edited)
			k := x.syncer(time.Millisecond)
			if n, err := k.Import(ctx); n != 1 || err != nil {
				t.Errorf("imported %d: %v", n, err)
			}
			if !c.is(t, x) {
				t.Errorf("it does not count: %+v", x.row(t, "task_a"))
			}
			head := x.head(t)
			last, err := x.Read(ctx, head-1, 1)
			must(t, err)
			var said coordination.FileChanged
			must(t, json.Unmarshal(last[0].Data, &said))
			want := c.edited
			if c.tail != "" {
				want = c.tail
			}
			if last[0].Type != coordination.TypeFileChanged || said.Path != c.file || said.Change != "change" || said.SHA256 != tasksync.SumOf(c.edited) ||
				said.Bytes != int64(len(c.edited)) || said.Text == nil || *said.Text != want || said.Offset != int64(len(c.edited)-len(want)) {
				t.Errorf("noted %s %s", last[0].Type, last[0].Data)
			}
			if n, err := x.syncer(0).Import(ctx); n != 0 || err != nil {
				t.Errorf("imported %d again: %v", n, err)
			}
			x.running(t, k)
			x.settled(t, k)
			if got := x.read(t)[c.file]; got != c.edited {
				t.Errorf("it was written over (-want +got):\n%s", cmp.Diff(c.edited, got))
			}
			if s := k.State(); s.Conflicts > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What one agent has in focus is said nowhere, and its file left alone, until a task of it has an event of its own.
func TestFocusIsLeftAloneUntilSomethingHappens(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const seum, miri = "workspace-seum/CURRENT_TASK.md", "workspace-miri/CURRENT_TASK.md"
	x := sampleTeam(t)
	x.write(t, "workspace-miri/tasks/task_nocreated.md", "# Task: task_nocreated\n\n## Description\n생성일 없음\n")
	before := x.read(t)
	k := x.syncer(time.Millisecond)
	if _, err := k.Import(ctx); err != nil {
		t.Fatal(err)
	}
	x.running(t, k)
	x.settled(t, k)
	if diff := cmp.Diff(before, x.read(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if row := x.row(t, "task_s1"); row.Focus || row.Status != coordination.StateInProgress {
		t.Errorf("%+v", row)
	}
	if row := x.row(t, "task_nocreated"); row.Status != coordination.StatePending {
		t.Errorf("%+v", row)
	}
	must(t, x.progress(ctx, "task_s1", "goes on"))
	x.settled(t, k)
	after, row := x.read(t), x.row(t, "task_s1")
	if !row.Focus || after[seum] != taskfile.FormatCurrent(&row.Task) {
		t.Errorf("%+v: %q", row, after[seum])
	}
	if text, ok := after[miri]; ok {
		t.Errorf("%s: %q", miri, text)
	}
}

// A file without a task is left alone, and taken over once it holds one.
func TestGarbageIsNoTask(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const name = "workspace-eden/tasks/task_x.md"
	for what, text := range map[string]string{
		"garbage": "\x01 what is this\n", "a state alone": "## Metadata\n- **Status:** blocked\n", "a page": "# Shopping\n\n- milk\n",
		"a state that there is not": "## Metadata\n- **Status:** walking\n\n## Description\nwhat\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			x := setup(t, t.TempDir())
			x.write(t, name, text)
			k := x.syncer(time.Millisecond)
			if n, err := k.Import(ctx); n != 0 || err != nil {
				t.Errorf("imported %d: %v", n, err)
			}
			x.running(t, k)
			x.settled(t, k)
			if n, err := k.Rewrite(ctx); n != 0 || err != nil {
				t.Errorf("%d were written: %v", n, err)
			}
			if diff := cmp.Diff(map[string]string{name: text}, x.read(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if events := x.fileEvents(t, 0); len(events) != 0 {
				t.Errorf("%q", events)
			}
			x.write(t, name, "## Description\nwhat\n")
			if n, err := x.syncer(0).Import(ctx); n != 1 || err != nil || x.row(t, "task_x").Status != coordination.StatePending {
				t.Errorf("imported %d: %v", n, err)
			}
		})
	}
}
