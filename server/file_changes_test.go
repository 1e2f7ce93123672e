package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/workspace"
)

// noting has changes noted in a log of its own.
func (b *filesBundle) noting(t *testing.T) *filesBundle {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(b.dir, database.Name), Durability: sqlite.DurabilityRelaxed, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b.log = log
	return b
}

// noted waits until the log holds n events, and lists all that it holds.
func (b *filesBundle) noted(t *testing.T, n int64) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := b.log.Wait(ctx, n); err != nil {
		t.Fatalf("wait for event %d: %v", n, err)
	}
	events, err := b.log.Read(ctx, 0, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var f coordination.FileChanged
		if err := json.Unmarshal(e.Data, &f); err != nil {
			t.Fatal(err)
		}
		if e.Type != coordination.TypeFileChanged || e.Stream != coordination.FileStream(f.Path) || f.EventRole != coordination.RoleObservability {
			t.Errorf("%s in %s: %s", e.Type, e.Stream, e.Data)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %d %.6s", f.Change, f.Path, e.AgentID, f.TaskID, f.Bytes, f.SHA256)))
	}
	return list
}

// The log knows every change, each once, whatever happened while no watcher ran.
func TestFileChangesAreNotedOnceAcrossRestarts(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	long := "workspace-eden/tasks/task_" + strings.Repeat("long", 40) + ".md"
	b.write(t, "workspace-eden/tasks/task_a.md", "a")
	b.write(t, "workspace-eden/tasks/task_b.md", "b")
	b.write(t, "workspace-eden/tasks/task_c.md", "c")
	b.write(t, long, "long")
	b.write(t, "workspace-eden/task-history/2026-02.md", "history")
	want := []string{
		"add workspace-eden/task-history/2026-02.md eden  7 259aa8",
		"add workspace-eden/tasks/task_a.md eden task_a 1 ca9781",
		"add workspace-eden/tasks/task_b.md eden task_b 1 3e23e8",
		"add workspace-eden/tasks/task_c.md eden task_c 1 2e7d2c",
		"add " + long + " eden " + strings.TrimSuffix(filepath.Base(long), ".md") + " 4 fc66f0",
	}
	check := func(news ...string) {
		t.Helper()
		want = append(want, news...)
		if diff := cmp.Diff(want, b.noted(t, int64(len(want)))); diff != "" {
			t.Fatalf("noted (-want +got):\n%s", diff)
		}
	}
	stop := b.watching(t, time.Hour)
	check()
	b.write(t, "workspace-eden/tasks/task_a.md", "aa")
	check("change workspace-eden/tasks/task_a.md eden task_a 2 961b6d")
	stop()

	b.watching(t, time.Hour)()
	check() // nothing has changed

	b.write(t, "workspace-eden/tasks/task_b.md", "bb")
	b.remove(t, "workspace-eden/tasks/task_c.md")
	b.write(t, "workspace-eden/tasks/task_d.md", "d")
	b.remove(t, long)
	stop = b.watching(t, time.Hour)
	check("change workspace-eden/tasks/task_b.md eden task_b 2 3b64db",
		"unlink workspace-eden/tasks/task_c.md eden task_c 0",
		"add workspace-eden/tasks/task_d.md eden task_d 1 18ac3e",
		"unlink "+long+" eden "+strings.TrimSuffix(filepath.Base(long), ".md")+" 0")
	stop()
	b.write(t, "workspace-eden/tasks/task_c.md", "c") // as it was before it went
	stop = b.watching(t, time.Hour)
	check("add workspace-eden/tasks/task_c.md eden task_c 1 2e7d2c")
	stop()
	b.watching(t, time.Hour)()
	check()
}

// A log that accepts nothing for a while loses no change.
func TestFileChangesWaitForTheLog(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	log := &stubbornLog{DB: b.log, refuse: 3}
	l := newChangeLog(log, hasGone, noFile, time.Now)
	change := func(path, op, sum string) []workspace.Change {
		return []workspace.Change{{Path: path, Op: op, Bytes: 1, SHA256: sum}}
	}
	if err := l.begin(t.Context(), change("a", "add", "1")); err == nil {
		t.Error("noted in a log that refuses")
	}
	l.add(change("a", "change", "2"))
	l.add(change("b", "add", "1"))
	if err := l.append(t.Context()); err == nil {
		t.Error("noted in a log that refuses")
	}
	l.add(change("b", "unlink", "")) // was never noted: no news
	l.add(change("a", "change", "3"))
	if err := l.append(t.Context()); err == nil {
		t.Error("noted in a log that refuses")
	}
	if err := l.append(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"add a   1 3"}, b.noted(t, 1)); diff != "" || len(l.pending) > 0 {
		t.Errorf("%s%+v", diff, l.pending)
	}
}

// A program that writes a file constantly does not flood the log, but its last change of each minute is recorded.
func TestFileThatChangesAllTheTimeIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	now := time.Now()
	l := newChangeLog(b.log, hasGone, noFile, func() time.Time { return now })
	change := func(path, op, sum string) {
		t.Helper()
		l.add([]workspace.Change{{Path: path, Op: op, Bytes: 1, SHA256: sum}})
		if err := l.append(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.begin(t.Context(), []workspace.Change{{Path: "a", Op: workspace.OpAdd, Bytes: 1, SHA256: "0"}}); err != nil {
		t.Fatal(err)
	}
	for second := range 150 {
		change("a", workspace.OpChange, fmt.Sprint(1+second))
		if second == 70 {
			change("b", workspace.OpAdd, "1")
			change("b", workspace.OpUnlink, "")
		}
		now = now.Add(time.Second)
	}
	if diff := cmp.Diff([]string{"add a   1 0", "change a   1 1", "change a   1 61", "add b   1 1", "change a   1 121", "unlink b   1"}, b.noted(t, 6)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	now = now.Add(noteEvery)
	if err := l.append(t.Context()); err != nil {
		t.Fatal(err)
	}
	if noted := b.noted(t, 7); noted[6] != "change a   1 150" || len(l.pending) > 0 {
		t.Errorf("at last: %q, %+v", noted, l.pending)
	}
}

// The team's state is recorded when it says that more than that time has passed, also after a restart.
func TestHeartbeatsAreNotNoted(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	state := func(sum, essence string) []workspace.Change {
		return []workspace.Change{{Path: workspace.TeamStateName, Op: workspace.OpChange, Bytes: 1, SHA256: sum, Essence: essence}}
	}
	run := func(there []workspace.Change, later ...[]workspace.Change) {
		t.Helper()
		l := newChangeLog(b.log, hasGone, noFile, time.Now)
		if err := l.begin(t.Context(), there); err != nil {
			t.Fatal(err)
		}
		for _, changes := range later {
			l.add(changes)
			if err := l.append(t.Context()); err != nil || len(l.pending) > 0 {
				t.Errorf("%+v is pending: %v", l.pending, err)
			}
		}
	}
	run(state("1", "idle"), state("2", "idle"), state("3", "busy"), state("4", "busy"))
	run(state("3", "busy"), state("5", "busy"), state("6", "idle"), state("7", "idle"))
	if diff := cmp.Diff([]string{"add team-state.json   1 1", "change team-state.json   1 3", "change team-state.json   1 6"}, b.noted(t, 3)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A file missing from an incomplete listing, of a directory with too many, is no removal.
func TestFileThatWasOnlyNotFoundIsNoRemoval(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	there := []workspace.Change{{Path: "a", Op: workspace.OpAdd, Bytes: 1, SHA256: "1"}, {Path: "b", Op: workspace.OpAdd, Bytes: 1, SHA256: "1"},
		{Path: "c", Op: workspace.OpAdd, Bytes: 1, SHA256: "1"}}
	for _, found := range [][]workspace.Change{there, there[:1]} {
		l := newChangeLog(b.log, func(path string) bool { return path == "c" }, noFile, time.Now)
		if err := l.begin(t.Context(), found); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"add a   1 1", "add b   1 1", "add c   1 1", "unlink c   0"}, b.noted(t, 4)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An empty state directory, such as one that is not mounted yet, removes nothing.
func TestEmptyDirectoryIsNoRemoval(t *testing.T) {
	t.Parallel()
	b := newFiles(t).noting(t)
	there := []workspace.Change{{Path: "a", Op: workspace.OpAdd, Bytes: 1, SHA256: "1"}, {Path: "b", Op: workspace.OpAdd, Bytes: 1, SHA256: "1"}}
	for _, found := range [][]workspace.Change{there, nil, there[:1]} {
		if err := newChangeLog(b.log, hasGone, noFile, time.Now).begin(t.Context(), found); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"add a   1 1", "add b   1 1", "unlink b   0"}, b.noted(t, 3)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// stubbornLog refuses the first appends.
type stubbornLog struct {
	*sqlite.DB
	refuse int
}

func (s *stubbornLog) Append(ctx context.Context, appends ...eventstore.StreamAppend) (eventstore.Result, error) {
	if s.refuse > 0 {
		s.refuse--
		return eventstore.Result{}, errors.New("not now")
	}
	return s.DB.Append(ctx, appends...)
}

// hasGone says of every file that it has gone.
func hasGone(string) bool { return true }

// noFile has nothing to read.
func noFile(string) ([]byte, error) { return nil, fs.ErrNotExist }
