package tasksync_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/services/tasksync"
	"github.com/pronto-lab/openclawd/workspace"
)

// row is a task as the log has it.
func (x *team) row(t testing.TB, id string) *tasks.Row {
	t.Helper()
	var row *tasks.Row
	must(t, x.View(context.Background(), func(tx *sql.Tx) (err error) {
		row, _, err = tasks.ByID(context.Background(), tx, id)
		return err
	}))
	if row == nil {
		t.Fatalf("there is no task %s", id)
	}
	return row
}

func TestFilesFollowTheLog(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	k := x.syncer(time.Millisecond)
	x.running(t, k)
	must(t, x.begin(ctx, "eden", "task_a", "로그인 기능", "asked for", "read", "write"))
	x.settled(t, k)
	check := func(want ...string) map[string]string {
		t.Helper()
		all := x.read(t)
		if diff := cmp.Diff(want, names(all)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
		return all
	}
	all := check("workspace-eden/CURRENT_TASK.md", "workspace-eden/tasks/task_a.md")
	row := x.row(t, "task_a")
	if all["workspace-eden/tasks/task_a.md"] != taskfile.Format(&row.Task) || all["workspace-eden/CURRENT_TASK.md"] != taskfile.FormatCurrent(&row.Task) {
		t.Errorf("%q", all)
	}
	must(t, x.begin(ctx, "eden", "task_b", "another", ""), x.progress(ctx, "task_a", "read it"))
	x.settled(t, k)
	all = check("workspace-eden/CURRENT_TASK.md", "workspace-eden/tasks/task_a.md", "workspace-eden/tasks/task_b.md")
	if c := taskfile.ParseCurrent(all["workspace-eden/CURRENT_TASK.md"]); c.TaskID != "task_a" {
		t.Errorf("in focus is %+v", c)
	}
	before := x.head(t)
	must(t, x.complete(ctx, "task_a", "all done"))
	x.settled(t, k)
	all = check("workspace-eden/CURRENT_TASK.md", "workspace-eden/task-history/2026-02.md", "workspace-eden/tasks/task_b.md")
	if c := taskfile.ParseCurrent(all["workspace-eden/CURRENT_TASK.md"]); c.TaskID != "task_b" {
		t.Errorf("in focus is %+v", c)
	}
	month := taskfile.ParseMonth(all["workspace-eden/task-history/2026-02.md"])
	if e := month.Entries(); len(e) != 1 || e[0].TaskID != "task_a" || e[0].Summary != "all done" {
		t.Errorf("history: %+v", e)
	}
	want := []string{"file.written workspace-eden/task-history/2026-02.md", "file.written workspace-eden/tasks/task_a.md",
		"file.written workspace-eden/CURRENT_TASK.md"}
	if diff := cmp.Diff(want, x.fileEvents(t, before)); diff != "" {
		t.Errorf("events of a completion (-want +got):\n%s", diff)
	}
	must(t, x.complete(ctx, "task_b", "that too"))
	x.settled(t, k)
	all = check("workspace-eden/CURRENT_TASK.md", "workspace-eden/task-history/2026-02.md")
	if all["workspace-eden/CURRENT_TASK.md"] != taskfile.FormatCurrent(nil) {
		t.Errorf("nothing is in focus: %q", all["workspace-eden/CURRENT_TASK.md"])
	}
	if month := taskfile.ParseMonth(all["workspace-eden/task-history/2026-02.md"]); len(month.Entries()) != 2 {
		t.Errorf("history: %+v", month.Entries())
	}
	if s := k.State(); s.Conflicts != 0 || s.Failing != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
}

// Finished tasks cost nothing: neither a completion nor a start reads them.
func TestCompletionsAndStartsDoNotTouchWhatIsOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	k := x.syncer(time.Millisecond)
	stop := x.running(t, k)
	for i := range 30 {
		id := fmt.Sprintf("task_%02d", i)
		must(t, x.begin(ctx, "eden", id, "one of many", ""), x.complete(ctx, id, "done"))
		x.now += 7 * 86_400_000
	}
	x.settled(t, k)
	stop()
	before := x.head(t)
	later := x.syncer(time.Millisecond)
	x.running(t, later)
	x.settled(t, later)
	if news := x.fileEvents(t, before); len(news) > 0 || later.State().Written > 0 {
		t.Errorf("a start wrote %d files: %q", later.State().Written, news)
	}
	must(t, x.begin(ctx, "eden", "task_last", "the last", ""), x.complete(ctx, "task_last", "done"))
	x.settled(t, later)
	if n := later.State().Written; n > 5 { // the task, its month, its removal, the focus twice
		t.Errorf("a task wrote %d files", n)
	}
}

// Promise: task-files
func TestEditsByHandAreKeptAside(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, tt := range map[string]struct {
		file   string
		before func(t *testing.T, x *team)
	}{
		"a task":        {"workspace-eden/tasks/task_a.md", func(*testing.T, *team) {}},
		"the focus":     {"workspace-eden/CURRENT_TASK.md", func(*testing.T, *team) {}},
		"a month":       {"workspace-eden/task-history/2026-02.md", func(t *testing.T, x *team) { must(t, x.complete(ctx, "task_a", "done")) }},
		"Korean edited": {"workspace-eden/tasks/task_a.md", func(t *testing.T, x *team) { must(t, x.progress(ctx, "task_a", "진행 중")) }},
	} {
		for how, running := range map[string]bool{"while we run": true, "while we do not": false} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				x := setup(t, t.TempDir())
				k := x.syncer(time.Millisecond)
				stop := x.running(t, k)
				must(t, x.begin(ctx, "eden", "task_a", "what to do", ""))
				tt.before(t, x)
				x.settled(t, k)
				want := x.read(t)
				before := x.head(t)
				if !running {
					stop()
				}
				x.write(t, tt.file, "# mine\n")
				if running {
					agent, file, _ := strings.Cut(strings.TrimPrefix(tt.file, "workspace-"), "/")
					k.Check(agent, file)
				} else {
					k = x.syncer(time.Millisecond)
					stop = x.running(t, k)
				}
				x.settled(t, k)
				want[tt.file+".conflict"] = "# mine\n"
				if diff := cmp.Diff(want, x.read(t)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				events := []string{"file.conflict " + tt.file + " " + filepath.Base(tt.file) + ".conflict", "file.written " + tt.file}
				if diff := cmp.Diff(events, x.fileEvents(t, before)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if s := k.State(); s.Conflicts != 1 || !slices.Equal(s.Kept, []string{tt.file + ".conflict"}) {
					t.Errorf("%+v", s)
				}
				must(t, os.Remove(filepath.Join(x.dir, tt.file)))
				before = x.head(t)
				agent, file, _ := strings.Cut(strings.TrimPrefix(tt.file, "workspace-"), "/")
				k.Check(agent, file)
				x.settled(t, k)
				if diff := cmp.Diff(want, x.read(t)); diff != "" {
					t.Errorf("after a removal (-want +got):\n%s", diff)
				}
				events[0] = "file.conflict " + tt.file
				if diff := cmp.Diff(events, x.fileEvents(t, before)); diff != "" {
					t.Errorf("events of a removal (-want +got):\n%s", diff)
				}
				later := x.syncer(time.Millisecond)
				stop()
				x.running(t, later)
				x.settled(t, later)
				if kept := later.State().Kept; !slices.Equal(kept, []string{tt.file + ".conflict"}) {
					t.Errorf("after a restart %q are kept aside", kept)
				}
				must(t, os.Remove(filepath.Join(x.dir, tt.file+".conflict")))
				if kept := later.State().Kept; len(kept) > 0 {
					t.Errorf("%q are kept aside that were removed", kept)
				}
			})
		}
	}
}

// meddling is a log that edits files while it is written.
type meddling struct {
	tasksync.Log
	meanwhile atomic.Pointer[func()]
}

func (m *meddling) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if meanwhile := m.meanwhile.Swap(nil); meanwhile != nil {
		(*meanwhile)()
	}
	return m.Log.Append(ctx, appends...)
}

// An edit between the examination of a file and the write is not lost.
func TestEditsMeanwhileAreKeptAside(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const file, month = "workspace-eden/tasks/task_a.md", "workspace-eden/task-history/2026-02.md"
	for name, tt := range map[string]struct {
		edited string
		then   func(x *team) error
	}{
		"of a task that changes":  {file, func(x *team) error { return x.progress(ctx, "task_a", "more") }},
		"of a month that begins":  {month, func(x *team) error { return x.complete(ctx, "task_a", "done") }},
		"of a task that is to be": {"workspace-eden/tasks/task_b.md", func(x *team) error { return x.begin(ctx, "eden", "task_b", "two", "") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := setup(t, t.TempDir())
			log := &meddling{Log: x}
			k := x.syncerOf(log, time.Millisecond)
			x.running(t, k)
			must(t, x.begin(ctx, "eden", "task_a", "what to do", ""))
			x.settled(t, k)
			edit := func() { x.write(t, tt.edited, "mine") }
			log.meanwhile.Store(&edit)
			must(t, tt.then(x))
			x.settled(t, k)
			all := x.read(t)
			if all[tt.edited+".conflict"] != "mine" || all[tt.edited] == "mine" || all[tt.edited] == "" || k.State().Conflicts != 1 {
				t.Errorf("%+v, %q", k.State(), all)
			}
		})
	}
}

// What is wrong with the log is told for as long as it is.
func TestLogThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := setup(t, t.TempDir())
		log := &unreadable{Log: x}
		log.failing.Store(true)
		k := x.syncerOf(log, time.Millisecond)
		x.running(t, k)
		<-time.After(10 * time.Second)
		if s := k.State(); s.Error != "no log" {
			t.Errorf("%+v", s)
		}
		log.failing.Store(false)
		<-time.After(time.Minute)
		if s := k.State(); s.Error != "" {
			t.Errorf("although it can be read again: %+v", s)
		}
	})
}

// unreadable is a log that cannot be read while it fails.
type unreadable struct {
	tasksync.Log
	failing atomic.Bool
}

func (u *unreadable) Read(ctx context.Context, after int64, limit int) ([]eventstore.Event, error) {
	if u.failing.Load() {
		return nil, errors.New("no log")
	}
	return u.Log.Read(ctx, after, limit)
}

// A process that dies between the event and the file leaves what the event says the file was before.
func TestFilesAreFinishedAfterADeath(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	run := func() map[string]string {
		k := x.syncer(time.Millisecond)
		stop := x.running(t, k)
		x.settled(t, k)
		stop()
		if s := k.State(); s.Conflicts > 0 {
			t.Errorf("%+v", s)
		}
		return x.read(t)
	}
	must(t, x.begin(ctx, "eden", "task_a", "one", ""), x.begin(ctx, "eden", "task_b", "two", ""), x.complete(ctx, "task_b", "done"))
	before := run()
	must(t, x.progress(ctx, "task_a", "more"), x.begin(ctx, "eden", "task_c", "three", ""), x.complete(ctx, "task_c", "done"))
	open := run()
	must(t, x.complete(ctx, "task_a", "done"))
	over := run()
	const file, month = "workspace-eden/tasks/task_a.md", "workspace-eden/task-history/2026-02.md"
	for _, name := range []string{file, month, "workspace-eden/CURRENT_TASK.md"} {
		x.write(t, name, open[name])
		x.write(t, path.Join(path.Dir(name), ".openclawd-0-1.tmp"), "half of") // which it was about to rename
		if diff := cmp.Diff(over, run()); diff != "" {
			t.Errorf("%s as it was before (-want +got):\n%s", name, diff)
		}
	}
	if before[month] == open[month] || open[month] == over[month] {
		t.Error("the history did not grow")
	}
}

// Nothing has to be written while a file changes all the time.
func TestChangesOfOneFileAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		x := setup(t, t.TempDir())
		k := x.syncer(200 * time.Millisecond)
		x.running(t, k)
		must(t, x.begin(ctx, "eden", "task_a", "one", ""))
		x.settled(t, k)
		before := k.State().Written
		for i := range 100 {
			must(t, x.progress(ctx, "task_a", fmt.Sprint("line ", i)))
			<-time.After(10 * time.Millisecond)
		}
		x.settled(t, k)
		if n := k.State().Written - before; n < 4 || n > 14 { // of the task and of the focus, in a second
			t.Errorf("%d files written", n)
		}
		if row := x.row(t, "task_a"); x.read(t)["workspace-eden/tasks/task_a.md"] != taskfile.Format(&row.Task) || row.ProgressCount != 101 {
			t.Errorf("%d lines", row.ProgressCount)
		}
	})
}

// An edit without a notification is noticed all the same.
func TestFilesAreLookedAtFromTimeToTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := setup(t, t.TempDir())
		k := x.syncer(time.Millisecond)
		x.running(t, k)
		must(t, x.begin(t.Context(), "eden", "task_a", "one", ""))
		x.settled(t, k)
		want := x.read(t)
		x.write(t, "workspace-eden/tasks/task_a.md", "mine")
		<-time.After(time.Hour)
		x.settled(t, k)
		want["workspace-eden/tasks/task_a.md.conflict"] = "mine"
		if diff := cmp.Diff(want, x.read(t)); diff != "" || k.State().Conflicts != 1 {
			t.Errorf("%+v, -want +got:\n%s", k.State(), diff)
		}
	})
}

// A program that goes on writing a file of ours does not fill the disk.
func TestEditsAllTheTimeAreKeptNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := setup(t, t.TempDir())
		k := x.syncer(time.Millisecond)
		x.running(t, k)
		must(t, x.begin(t.Context(), "eden", "task_a", "one", ""))
		x.settled(t, k)
		want := x.read(t)["workspace-eden/tasks/task_a.md"]
		for i := range 60 {
			x.write(t, "workspace-eden/tasks/task_a.md", fmt.Sprint("mine ", i))
			k.Check("eden", "tasks/task_a.md")
			<-time.After(time.Second)
		}
		x.settled(t, k)
		if n := k.State().Conflicts; n < 5 || n > 8 || x.read(t)["workspace-eden/tasks/task_a.md"] != want {
			t.Errorf("%d conflicts", n)
		}
	})
}

// What is in the way is told, and tried again, and keeps nothing else from being written.
func TestWhatIsInTheWayIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		x := setup(t, t.TempDir())
		x.write(t, "workspace-eden/tasks", "no directory")
		x.write(t, "workspace-seum/note.md", "")
		k := x.syncer(time.Millisecond)
		x.running(t, k)
		must(t, x.begin(ctx, "eden", "task_a", "one", ""), x.begin(ctx, "seum", "task_b", "two", ""))
		<-time.After(5 * time.Minute)
		synctest.Wait()
		s := k.State()
		if s.Failing != 1 || !strings.Contains(s.Error, "workspace-eden/tasks/task_a.md") || s.Seq >= x.head(t) {
			t.Errorf("%+v", s)
		}
		if events := x.fileEvents(t, 0); len(events) > 4 {
			t.Errorf("events of attempts: %q", events)
		}
		if _, ok := x.read(t)["workspace-seum/tasks/task_b.md"]; !ok {
			t.Error("the other agent's file is not there")
		}
		must(t, os.Remove(filepath.Join(x.dir, "workspace-eden/tasks")))
		x.settled(t, k)
		if s := k.State(); s.Failing != 0 || s.Error != "" || s.Seq < x.head(t)-3 {
			t.Errorf("%+v", s)
		}
		if row := x.row(t, "task_a"); x.read(t)["workspace-eden/tasks/task_a.md"] != taskfile.Format(&row.Task) {
			t.Error("the file is not as the log says")
		}
	})
}

// A full month keeps no task open.
func TestFullMonthIsTold(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	x := setup(t, t.TempDir())
	const month = "workspace-eden/task-history/2026-02.md"
	x.write(t, month, strings.Repeat("much text\n", workspace.MaxFileBytes/10))
	k := x.syncer(time.Millisecond)
	if n, err := k.Import(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	x.running(t, k)
	must(t, x.begin(ctx, "eden", "task_a", "one", ""), x.complete(ctx, "task_a", "done"))
	x.settled(t, k)
	if s := k.State(); s.Failing != 1 || !strings.Contains(s.Error, month) {
		t.Errorf("%+v", s)
	}
	again := x.syncer(time.Millisecond) // after a restart
	x.running(t, again)
	x.settled(t, again)
	if s := again.State(); s.Failing != 1 || !strings.Contains(s.Error, month) {
		t.Errorf("after a restart: %+v", s)
	}
	x.later.Store((9 * 24 * time.Hour).Milliseconds()) // in March
	if s := k.State(); s.Failing != 0 || s.Error != "" {
		t.Errorf("in the next month: %+v", s)
	}
	if got := names(x.read(t)); slices.Contains(got, "workspace-eden/tasks/task_a.md") {
		t.Errorf("%q", got)
	}
}

// What could not be written is tried once more when the program ends, whenever its next try would be; what cannot be written then either is told.
func TestDrainTriesOnceMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		x := setup(t, t.TempDir())
		x.write(t, "workspace-eden/tasks", "no directory")
		x.write(t, "workspace-seum/tasks", "no directory")
		k := x.syncer(time.Millisecond)
		x.running(t, k)
		must(t, x.begin(ctx, "eden", "task_a", "one", ""), x.begin(ctx, "seum", "task_b", "two", ""))
		<-time.After(5 * time.Minute) // the next try is up to a minute away
		synctest.Wait()
		must(t, os.Remove(filepath.Join(x.dir, "workspace-eden/tasks")))
		began := time.Now()
		behind, err := k.Drained(ctx, x.head(t))
		must(t, err)
		if want := []string{filepath.Join(x.dir, "workspace-seum/tasks/task_b.md")}; !slices.Equal(behind, want) {
			t.Errorf("behind are %q, want %q", behind, want)
		}
		if row := x.row(t, "task_a"); x.read(t)["workspace-eden/tasks/task_a.md"] != taskfile.Format(&row.Task) {
			t.Error("the file that can be written is not as the log says")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("draining took %s", took)
		}
	})
}
