package tasksync_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/services/tasksync"
)

// checks gives what differs, as "kind path".
func (x *team) checks(t *testing.T) (differ []string) {
	t.Helper()
	before, head := x.read(t), x.head(t)
	checked, err := tasksync.Check(t.Context(), tasksync.Options{Log: x.DB, Logger: slog.New(slog.DiscardHandler),
		Agents: func() []string { return []string{"eden"} },
		Dir:    func(agent string) string { return filepath.Join(x.dir, "workspace-"+agent) },
		Now:    func() time.Time { return time.UnixMilli(start) }}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range checked.Differences {
		differ = append(differ, string(d.Kind)+" "+d.Path)
	}
	if diff := cmp.Diff(before, x.read(t)); diff != "" || x.head(t) != head {
		t.Errorf("a check has changed something, %d events more:\n%s", x.head(t)-head, diff)
	}
	return differ
}

// A check finds nothing after the service has run, whatever is finished and whatever was there before; then each kind of difference, and
// it changes nothing.
//
// Promise: verify
func TestCheckFindsWhatSyncWouldWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := setup(t, dir)
	ctx := t.Context()
	x.write(t, "workspace-eden/task-history/2026-01.md", "# 2026-01\n\nbefore the log\n")
	k := x.syncer(time.Millisecond)
	_, err := k.Import(ctx)
	must(t, err,
		x.begin(ctx, "eden", "task_open", "deploy", "", "build", "ship"),
		x.begin(ctx, "eden", "task_over", "test", ""),
		x.complete(ctx, "task_over", "done"))
	if got := x.checks(t); len(got) < 3 {
		t.Errorf("before the first synchronization: found %q, want a task, a month and a focus", got)
	}
	stop := x.running(t, k)
	x.settled(t, k)
	stop()
	if got := x.checks(t); len(got) > 0 {
		t.Fatalf("after the synchronization: found %q", got)
	}
	month := "workspace-eden/task-history/" + time.UnixMilli(x.now).UTC().Format("2006-01") + ".md"
	all := x.read(t)
	for name, c := range map[string]struct {
		damage func() error
		want   []string
	}{
		"edited task": {func() error {
			return os.WriteFile(filepath.Join(dir, "workspace-eden/tasks/task_open.md"), []byte("# mine\n"), 0o600)
		}, []string{"edited workspace-eden/tasks/task_open.md"}},
		"edited month": {func() error { return os.WriteFile(filepath.Join(dir, month), []byte(all[month]+"more\n"), 0o600) }, []string{"edited " + month}},
		"edited focus": {func() error {
			return os.WriteFile(filepath.Join(dir, "workspace-eden/CURRENT_TASK.md"), []byte("# none\n"), 0o600)
		}, []string{"edited workspace-eden/CURRENT_TASK.md"}},
		"removed": {func() error { return os.Remove(filepath.Join(dir, "workspace-eden/tasks/task_open.md")) }, []string{"missing workspace-eden/tasks/task_open.md"}},
	} {
		must(t, c.damage())
		if diff := cmp.Diff(c.want, x.checks(t)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", name, diff)
		}
		for file, text := range all {
			x.write(t, file, text)
		}
	}
	must(t, x.progress(ctx, "task_open", "half way"))
	if diff := cmp.Diff([]string{"behind workspace-eden/CURRENT_TASK.md", "behind workspace-eden/tasks/task_open.md"}, x.checks(t)); diff != "" {
		t.Errorf("with events that no Syncer has handled, -want +got:\n%s", diff)
	}
	must(t, x.complete(ctx, "task_open", "done"))
	if diff := cmp.Diff([]string{"behind workspace-eden/CURRENT_TASK.md", "behind " + month, "left workspace-eden/tasks/task_open.md"}, x.checks(t)); diff != "" {
		t.Errorf("with a task that is over, -want +got:\n%s", diff)
	}
}
