package tasks_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// eachRebuilt says whether each single history is made again too. Property tests do it in any case.
var eachRebuilt = testscale.Of(false, true)

const (
	atA, atB  = "workspace-eden/tasks/task_a.md", "workspace-eden/tasks/task_b.md"
	atSeum    = "workspace-seum/tasks/task_a.md"
	atCurrent = "workspace-eden/CURRENT_TASK.md"
	atMonth   = "workspace-eden/task-history/2026-02.md"
)

// text is a file of a task in that state.
func text(id, status string, progress ...string) string {
	return taskfile.Format(&taskfile.Task{ID: id, Status: status, Priority: "high", Description: "do " + id, Created: "2026-02-20T07:00:00.000Z",
		LastActivity: "2026-02-20T08:00:00.000Z", WorkSessionID: "ws_f", Progress: progress,
		Delegations: []byte(`[{"delegationId":"d1"}]`), DelegationEvents: []byte(`[]`), DelegationSummary: []byte(`{"total":1}`)})
}

func ended(id, at string) taskfile.Entry {
	return taskfile.Entry{Description: "did " + id, Context: "why", TaskID: id, Priority: "low", Started: "2026-02-16T18:00:00.000Z", Completed: at,
		Duration: "42h 0m", Progress: []string{"Task started", "Task completed"}, Summary: "good"}
}

func month(entries ...taskfile.Entry) string {
	all := taskfile.MonthHeader("2026-02")
	for _, e := range entries {
		all += taskfile.FormatEntry(&e)
	}
	return all
}

// Given events of files, and of tasks, these are the tasks; live, and rebuilt from the log.
func TestFilesAreFolded(t *testing.T) {
	t.Parallel()
	const at1, at2 = "2026-02-18T12:00:00.000Z", "2026-02-19T12:00:00.000Z"
	given := ended("task_a", at1)
	given.Summary, given.Progress = "Cancelled: 중복", []string{"Task cancelled: 중복"}
	points := "# Current Task\n\n**Focus:** task_b\n\n## do\n"
	for name, c := range map[string]struct {
		events []eventstore.StreamAppend
		want   []string
	}{
		"a file that was there": {
			[]eventstore.StreamAppend{imported(1, atA, text("task_a", "blocked"))}, []string{"task_a blocked"},
		},
		"files that are of no task": {
			[]eventstore.StreamAppend{imported(1, "workspace-eden/tasks/notes.md", text("notes", "blocked")), imported(2, "workspace-eden/x/tasks/task_a.md", text("task_a", "blocked")),
				imported(3, "workspaces/tasks/task_a.md", text("task_a", "blocked")), imported(4, atA, ""), imported(5, atB, text("task_b", "unheard_of")),
				file(6, coordination.TypeFileChanged, atA, coordination.FileChanged{Path: atA, Change: "add"}),
				file(6, coordination.TypeFileImported, atA, coordination.FileImported{Path: atB, Text: text("task_b", "blocked")})},
			nil,
		},
		"what an imported log says of files and tasks": {
			[]eventstore.StreamAppend{asImport(imported(1, atA, text("task_a", "blocked"))), asImport(started(2, "task_b", "eden"))}, nil,
		},
		"the one that CURRENT_TASK.md names, known before": {
			[]eventstore.StreamAppend{imported(1, atA, text("task_a", "in_progress")), imported(2, atB, text("task_b", "in_progress")), imported(3, atCurrent, points)},
			[]string{"task_a in_progress", "task_b in_progress!"},
		},
		"the one that CURRENT_TASK.md names, known after": {
			[]eventstore.StreamAppend{imported(1, atCurrent, points), imported(2, atA, text("task_a", "in_progress")), imported(3, atB, text("task_b", "in_progress"))},
			[]string{"task_a in_progress", "task_b in_progress!"},
		},
		"no CURRENT_TASK.md": {
			[]eventstore.StreamAppend{imported(1, atB, text("task_b", "in_progress")), imported(2, atA, text("task_a", "in_progress"))},
			[]string{"task_b in_progress", "task_a in_progress"},
		},
		"a file that says neither what is to be done nor since when": {
			[]eventstore.StreamAppend{imported(1, atA, "## Metadata\n- **Status:** blocked\n"), changed(2, atB, "garbage"),
				imported(3, "workspace-eden/tasks/task_c.md", "## Description\nwhat\n"),
				imported(4, "workspace-eden/tasks/task_d.md", "## Metadata\n- **Created:** 2026-02-20T07:00:00.000Z\n")},
			[]string{"task_d pending", "task_c pending"},
		},
		"history": {
			[]eventstore.StreamAppend{imported(1, atMonth, month(given, ended("task_b", at2)))}, []string{"task_b completed", "task_a cancelled"},
		},
		"history of a task whose file is there, before and after it": {
			[]eventstore.StreamAppend{imported(1, atA, text("task_a", "in_progress")), imported(2, atMonth, month(ended("task_a", at1), ended("task_b", at1))),
				imported(3, atB, text("task_b", "blocked"))},
			[]string{"task_a in_progress", "task_b blocked"},
		},
		"own events count more than a file that was there": {
			[]eventstore.StreamAppend{started(1, "task_a", "eden"), started(1, "task_b", "eden"), imported(2, atA, text("task_a", "blocked")),
				imported(3, atMonth, month(ended("task_b", at1))), imported(3, atCurrent, points+"\n"), updated(4, "task_a", "eden", "x")},
			[]string{"task_a in_progress!", "task_b in_progress"},
		},
		"the file that another gateway has changed counts most": {
			[]eventstore.StreamAppend{started(1, "task_a", "eden"), changed(2, atA, text("task_a", "blocked"))}, []string{"task_a blocked"},
		},
		"own events go on from the file": {
			[]eventstore.StreamAppend{imported(1, atA, text("task_a", "blocked")), change(2, coordination.TypeTaskResumed, "task_a", "eden", coordination.TaskState{})},
			[]string{"task_a in_progress!"},
		},
		"a file that is gone, and comes again": {
			[]eventstore.StreamAppend{changed(1, atA, text("task_a", "blocked")), changed(1, atB, text("task_b", "blocked")), unlinked(2, atA), unlinked(3, atB),
				changed(4, atB, text("task_b", "in_progress"))},
			[]string{"task_b in_progress", "task_a blocked gone"},
		},
		"a file that says nothing any more": {
			[]eventstore.StreamAppend{changed(1, atA, text("task_a", "blocked")), changed(2, atA, "*(No task)*")}, []string{"task_a blocked gone"},
		},
		"a task that another gateway has completed, history first": {
			[]eventstore.StreamAppend{changed(1, atA, text("task_a", "in_progress")), changed(2, atMonth, month(ended("task_a", at1))), unlinked(3, atA)},
			[]string{"task_a completed"},
		},
		"a task that another gateway has completed, the file first": {
			[]eventstore.StreamAppend{changed(1, atA, text("task_a", "in_progress")), unlinked(2, atA), changed(3, atMonth, month(ended("task_a", at1)))},
			[]string{"task_a completed"},
		},
		"the end of a month": {
			[]eventstore.StreamAppend{changed(1, atMonth, month(ended("task_a", at1))), file(2, coordination.TypeFileChanged, atMonth, coordination.FileChanged{Path: atMonth,
				Change: "change", Offset: 100, Text: new("tail of an entry\n" + month(ended("task_b", at2)))})},
			[]string{"task_b completed", "task_a completed"},
		},
		"the file of another agent that has the same name": {
			[]eventstore.StreamAppend{imported(1, atA, text("task_a", "blocked")), imported(2, atSeum, text("task_a", "in_progress")), unlinked(3, atSeum)},
			[]string{"task_a blocked"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, e := range c.events {
				l.append(t, e)
			}
			want(t, "tasks", l.list(t, tasks.Filter{}), c.want)
			if eachRebuilt {
				l.rebuild(t)
			}
		})
	}
}

// A task that was found in a file has what its file says, also what is not ours; its lines of progress are those of the file, added to or not.
func TestTaskOfAFile(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first := text("task_a", "in_progress", "one", "two\n줄")
	l.append(t, changed(1, atA, first))
	row := l.byID(t, "task_a")
	want(t, "the file again", taskfile.Format(&row.Task), first)
	if row.AgentID != "eden" || row.Version != 0 || row.Seq != 1 || row.ProgressCount != 2 || row.LastProgress != "two\n줄" || row.WorkSessionID != "ws_f" {
		t.Errorf("it is %+v", row)
	}
	for i, lines := range [][]string{{"one", "two\n줄", "three"}, {"one", "two\n줄", "three"}, {"one"}, {"eins", "zwei"}, nil, {"a"}} {
		now := text("task_a", "in_progress", lines...)
		l.append(t, changed(int64(2+i), atA, now))
		want(t, fmt.Sprint("the file, change ", i), taskfile.Format(&l.byID(t, "task_a").Task), now)
	}
	kept := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
		return n, tx.QueryRowContext(ctx, "SELECT count(*) FROM v_task_progress WHERE task_id = 'task_a' AND text = 'a' AND n = 1").Scan(&n)
	})
	want(t, "lines in the view", kept, 1)
	d := coordination.Delegation{DelegationID: "d2", FromAgent: "eden", ToAgent: "seum", JobID: "d2"}
	l.append(t, updated(20, "task_a", "eden", "ours"), delegated(21, "delegation.spawned", "task_a", d))
	row = l.byID(t, "task_a")
	want(t, "progress", row.Progress, []string{"a", "ours"})
	if got := string(row.Delegations); len(got) < len(`[{"delegationId":"d1"},`) || got[:23] != `[{"delegationId":"d1"},` {
		t.Errorf("delegations are %s", got)
	}
	l.rebuild(t)
}

// The version of a task is that of its stream with the last event that changed it: neither what was imported into the stream nor what happens
// to a delegation is a change.
func TestVersionIsThatOfTheLastChange(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, asImport(updated(1, "task_a", "eden", "x")), asImport(updated(2, "task_a", "eden", "y")))
	if found := l.load(t, "task_a"); found != nil {
		t.Errorf("there is %+v", found)
	}
	l.append(t, imported(3, atA, text("task_a", "in_progress")))
	if found := l.load(t, "task_a"); found == nil || found.Version != 0 {
		t.Errorf("it is %+v", found)
	}
	l.append(t, updated(3, "task_a", "eden", "own"), delegated(3, coordination.TypeDelegationSpawned, "task_a", coordination.Delegation{DelegationID: "d"}))
	if found := l.load(t, "task_a"); found == nil || found.Version != 3 || l.byID(t, "task_a").Version != 3 {
		t.Errorf("it is %+v", found)
	}
	l.append(t, unlinked(4, atA))
	if found := l.load(t, "task_a"); found != nil {
		t.Errorf("there is %+v", found)
	}
	states := map[string]string{}
	l.append(t, started(5, "task_b", "eden"))
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		states, err = tasks.States(tx, []string{"task_a", "task_b", "task_c", "이름 / 없는"})
		return err
	})
	want(t, "states", states, map[string]string{"task_b": "in_progress"})
}

// The history of an agent has the tasks that have ended, month by month, in that order, each once.
func TestEntries(t *testing.T) {
	t.Parallel()
	l := setup(t)
	nameless := ended("", "2026-02-18T12:00:00.000Z")
	old := month(ended("task_b", "2026-02-18T12:00:00.000Z"), nameless, ended("task_a", "2026-02-18T12:00:00.000Z"))
	l.append(t, imported(1, atMonth, old), imported(2, atA, text("task_a", "completed")))
	complete := func(ms int64, id, agent string) eventstore.StreamAppend {
		return change(ms, coordination.TypeTaskCompleted, id, agent, coordination.TaskState{Summary: "ok", Progress: "Task completed"})
	}
	l.append(t, started(1_000, "task_x", "eden"), started(2_000, "task_y", "eden"), started(3_000, "task_z", "seum"))
	l.append(t, complete(9_000, "task_z", "seum"), complete(600_000, "task_y", "eden"),
		change(700_000, coordination.TypeTaskCancelled, "task_x", "eden", coordination.TaskState{Reason: "중복", Progress: "Task cancelled: 중복"}))
	entries := func(agent, month string, after int64) (ids []string, end int64) {
		projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (_ struct{}, err error) {
			found, last, err := tasks.Entries(ctx, tx, agent, month, after)
			for _, e := range found {
				ids = append(ids, e.TaskID+" "+e.Summary)
			}
			end = last
			return struct{}{}, err
		})
		return ids, end
	}
	check := func(agent, month string, after int64, wantIDs []string, wantEnd int64) {
		t.Helper()
		ids, end := entries(agent, month, after)
		want(t, fmt.Sprint("entries of ", agent, month, after), ids, wantIDs)
		want(t, fmt.Sprint("the last of ", agent, month, after), end, wantEnd)
	}
	check("Eden", "2026-02", 0, []string{"task_b good", " good", "task_a good"}, 1)
	check("eden", "2026-02", 1, nil, 0)
	check("eden", "2026-09", 0, []string{"task_y ok", "task_x Cancelled: 중복"}, 8)
	check("eden", "2026-09", 7, []string{"task_x Cancelled: 중복"}, 8)
	check("seum", "2026-09", 0, []string{"task_z ok"}, 6)
	for n, wantIDs := range [][]string{nil, {"task_x"}, {"task_y", "task_x"}, {"task_y", "task_x"}} {
		ids := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (ids []string, err error) {
			found, end, err := tasks.LastEntries(ctx, tx, "Eden", "2026-09", n)
			for _, e := range found {
				ids = append(ids, e.TaskID)
				if len(e.Progress) != 2 || end != 8 {
					t.Errorf("%+v, the last ended with %d", e, end)
				}
			}
			return ids, err
		})
		want(t, fmt.Sprint("the last ", n), ids, wantIDs)
	}
	for agent, wantHad := range map[string]bool{"Eden": true, "seum": true, "ruda": false} {
		had := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (bool, error) { return tasks.HadOwn(ctx, tx, agent) })
		want(t, agent+" has had a task", had, wantHad)
	}
	months := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]string, error) { return tasks.Months(ctx, tx, "eden") })
	want(t, "months", months, []string{"2026-09", "2026-02"})
	again := projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (text string, err error) {
		found, _, err := tasks.Entries(ctx, tx, "eden", "2026-02", 0)
		return month(found...), err
	})
	want(t, "the month written again", again, old)
	l.rebuild(t)
}

// What is known of files is as the last event about each says.
func TestFilesAreKnown(t *testing.T) {
	t.Parallel()
	l := setup(t)
	type known struct {
		SHA256, Previous string
		Through, Seq     int64
	}
	check := func(when string, wanted known) {
		t.Helper()
		want(t, when, projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (k known, err error) {
			err = tx.QueryRowContext(ctx, "SELECT sha256, previous, through, seq FROM task_files WHERE path = ?", atMonth).
				Scan(&k.SHA256, &k.Previous, &k.Through, &k.Seq)
			if errors.Is(err, sql.ErrNoRows) {
				err = nil
			}
			return k, err
		}), wanted)
	}
	written := func(d coordination.FileWritten) eventstore.StreamAppend {
		d.Path = atMonth
		return file(9, coordination.TypeFileWritten, atMonth, d)
	}
	check("none", known{})
	l.append(t, imported(1, atMonth, month()))
	check("imported", known{SHA256: "h:" + atMonth, Through: 1, Seq: 1})
	l.append(t, written(coordination.FileWritten{SHA256: "w", Previous: "h", Through: 7}))
	check("written", known{SHA256: "w", Previous: "h", Through: 7, Seq: 2})
	l.append(t, file(3, coordination.TypeFileConflict, atMonth, coordination.FileConflict{Path: atMonth, Kept: "2026-02.md.conflict", SHA256: "x"}))
	check("put aside", known{SHA256: "w", Through: 7, Seq: 3})
	l.append(t, written(coordination.FileWritten{SHA256: "v"}))
	check("written again", known{SHA256: "v", Through: 7, Seq: 4})
	l.append(t, unlinked(5, atMonth), written(coordination.FileWritten{Previous: "v"}), imported(6, atA, text("task_a", "blocked")))
	check("removed", known{Previous: "v", Seq: 6})
}

// A task that nothing has turned to is not in focus, but is the one that is meant: the first by the order of lists.
func TestFocusOfFiles(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, imported(1, atA, text("task_a", "blocked")), imported(2, atB, text("task_b", "in_progress")),
		imported(3, "workspace-eden/tasks/task_c.md", text("task_c", "in_progress")))
	check := func(when, focus, active string, own bool) {
		t.Helper()
		want(t, when+", in focus", l.focus(t, "eden"), focus)
		l.deciding(t, func(tx eventstore.Tx) error {
			got, err := tasks.Active(tx, "Eden")
			want(t, when+", active", got, active)
			return err
		})
		projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (_ struct{}, err error) {
			boards, err := tasks.Boards(ctx, tx)
			had, err2 := tasks.HadOwn(ctx, tx, "Eden")
			if len(boards) != 1 || had != own || (boards[0].Focus == nil) != (focus == "") || focus != "" && boards[0].Focus.ID != focus {
				t.Errorf("%s: boards %+v, own events %v", when, boards, had)
			}
			return struct{}{}, errors.Join(err, err2)
		})
	}
	check("as imported", "", "task_b", false)
	l.append(t, imported(4, atCurrent, "**Focus:** task_c\n"))
	check("when it is named", "task_c", "task_c", false)
	l.append(t, updated(5, "task_b", "eden", "turned to"))
	check("when another one was turned to", "task_b", "task_b", true)
	l.append(t, change(6, coordination.TypeTaskCompleted, "task_b", "eden", coordination.TaskState{Progress: "Task completed"}))
	check("when that is over", "task_c", "task_c", true)
	l.rebuild(t)
}

// Every file of tasks in the sample workspaces is folded, and what can be read of it is found again.
func TestSampleFiles(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sample", "workspace-*", "tasks", "task_*.md"))
	if err != nil {
		t.Fatal(err)
	}
	l := setup(t)
	for i, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		agent := filepath.Base(filepath.Dir(filepath.Dir(path)))
		l.append(t, imported(int64(i), agent+"/tasks/"+filepath.Base(path), string(data)))
	}
	if tasks := l.list(t, tasks.Filter{}); len(tasks) == 0 {
		t.Error("no task was found")
	}
	l.rebuild(t)
}
