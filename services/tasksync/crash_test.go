package tasksync_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// crashRounds are enough to meet each kind of moment.
var crashRounds = testscale.Of(3, 10)

// A kill between an event and its file, or between history and the removal of a task's file, leaves nothing that the next start does not
// repair.
//
// Promise: task-files
func TestCrashWhileWritingFiles(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, keeping, crashRounds)
}

// crashLogSize is how many events a log gets, about, before the next one begins.
const crashLogSize = 3_000

// keeping has agents start, work at and end tasks while their files are written. Each acknowledgement is "<team> <task that has ended>".
var keeping = storetest.Scenario{
	Name: "files",
	Prepare: func(t testing.TB, dir string) {
		empty, err := emptyLog()
		must(t, err, os.WriteFile(filepath.Join(dir, "empty.db"), empty, 0o600))
	},
	Work: func(c *storetest.Child) error {
		for n := max(len(crashTeams(c.Dir)), 1); ; n++ {
			if err := keepFiles(c, fmt.Sprintf("team-%03d", n)); err != nil {
				return err
			}
		}
	},
	Check: checkFiles,
}

func crashTeams(dir string) []string {
	teams, err := filepath.Glob(filepath.Join(dir, "team-*.db"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	return teams
}

// openCrashed opens a team, or makes it.
func openCrashed(ctx context.Context, dir, name string) (*team, error) {
	path := filepath.Join(dir, name+".db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		empty, err := os.ReadFile(filepath.Join(dir, "empty.db"))
		if err == nil {
			err = errors.Join(os.WriteFile(path+".new", empty, 0o600), os.Rename(path+".new", path))
		}
		if err != nil {
			return nil, err
		}
	}
	return openTeam(ctx, path, filepath.Join(dir, name), false)
}

// keepFiles works on a team until its log is large enough.
func keepFiles(c *storetest.Child, name string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	x, err := openCrashed(ctx, c.Dir, name)
	if err != nil {
		return err
	}
	k := x.syncer(time.Millisecond)
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	agents := []string{"eden", "seum", "ruda"}
	for {
		head, err := x.Head(ctx)
		if err != nil {
			return err
		}
		if head.Seq >= crashLogSize {
			stop()
			return errors.Join(<-ended, x.Close())
		}
		x.now = start + head.Seq*3_600_000 // a month is some hundred events
		id := fmt.Sprintf("task_%06d", head.Seq)
		open, err := x.open(ctx)
		switch {
		case err != nil:
		case len(open) < 3 || len(open) < 8 && c.Rand.IntN(3) == 0:
			err = x.begin(ctx, agents[c.Rand.IntN(len(agents))], id, "what to do\n## "+id, "because", "one", "two")
		case c.Rand.IntN(2) == 0:
			busy := open[c.Rand.IntN(len(open))] // so that more has happened before the file is written
			for n := range 1 + c.Rand.IntN(6) {
				err = errors.Join(err, x.progress(ctx, busy, fmt.Sprint("came on: ", n)))
			}
		default:
			id = open[c.Rand.IntN(len(open))]
			if err = x.complete(ctx, id, "came to an end"); err == nil {
				c.Ack(name + " " + id)
			}
		}
		if err == nil && c.Rand.IntN(8) == 0 {
			err = x.settle(ctx, k)
		}
		if err != nil {
			return err
		}
	}
}

// open lists tasks that are not over.
func (x *team) open(ctx context.Context) (ids []string, err error) {
	open := true
	err = x.View(ctx, func(tx *sql.Tx) error {
		rows, _, err := tasks.List(ctx, tx, tasks.Filter{Open: &open})
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		return err
	})
	slices.Sort(ids)
	return ids, err
}

// checkFiles fails t unless, after a start, the files of the newest team are what its log says.
func checkFiles(t testing.TB, dir string, acked []string) {
	teams := crashTeams(dir)
	if len(teams) == 0 {
		return // it died before it began
	}
	name := strings.TrimSuffix(filepath.Base(teams[len(teams)-1]), ".db")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	x, err := openCrashed(ctx, dir, name)
	must(t, err, os.MkdirAll(x.dir, 0o755))
	defer func() { must(t, x.Close()) }()
	k := x.syncer(time.Millisecond)
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	must(t, x.settle(ctx, k))
	stop()
	must(t, <-ended)
	want := x.wanted(t)
	got := x.read(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files are not as the log says (-want +got):\n%.4000s", diff)
	}
	if s := k.State(); s.Conflicts > 0 || s.Failing > 0 {
		t.Errorf("%+v", s)
	}
	entries := map[string]int{}
	for name, text := range got {
		if strings.Contains(name, "/task-history/") {
			for _, e := range taskfile.ParseMonth(text).Entries() {
				entries[e.TaskID]++
			}
		}
	}
	for id, n := range entries {
		if n != 1 {
			t.Errorf("%s has %d entries", id, n)
		}
	}
	for _, ack := range acked {
		if id, ok := strings.CutPrefix(ack, name+" "); ok && entries[id] != 1 {
			t.Errorf("%s has ended, and has %d entries", id, entries[id])
		}
	}
}

// wanted are the files that the log says.
func (x *team) wanted(t testing.TB) map[string]string {
	t.Helper()
	ctx := context.Background()
	all := map[string]string{}
	open, err := x.open(ctx)
	must(t, err)
	for _, id := range open {
		row := x.row(t, id)
		all["workspace-"+row.AgentID+"/tasks/"+id+".md"] = taskfile.Format(&row.Task)
	}
	var boards []tasks.Board
	must(t, x.View(ctx, func(tx *sql.Tx) (err error) {
		if boards, err = tasks.Boards(ctx, tx); err != nil {
			return err
		}
		for _, b := range boards {
			months, err := tasks.Months(ctx, tx, b.AgentID)
			if err != nil {
				return err
			}
			for _, month := range months {
				entries, _, err := tasks.Entries(ctx, tx, b.AgentID, month, 0)
				if err != nil {
					return err
				}
				text := taskfile.MonthHeader(month)
				for i := range entries {
					text += taskfile.FormatEntry(&entries[i])
				}
				all["workspace-"+b.AgentID+"/task-history/"+month+".md"] = text
			}
		}
		return nil
	}))
	for _, b := range boards {
		var focus *taskfile.Task
		if b.Focus != nil {
			focus = &x.row(t, b.Focus.ID).Task
		}
		all["workspace-"+b.AgentID+"/CURRENT_TASK.md"] = taskfile.FormatCurrent(focus)
	}
	return all
}
