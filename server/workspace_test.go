package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/internal/watch"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/workspace"
)

// patience is how long a test waits for what must come.
const patience = testscale.Patience

// filesBundle is a state directory whose changes are watched.
type filesBundle struct {
	dir  string
	told chan push.Message
	log  *sqlite.DB // nil: changes are not noted
}

func newFiles(t *testing.T) *filesBundle {
	t.Helper()
	return &filesBundle{dir: t.TempDir(), told: make(chan push.Message, 1_000)}
}

// watching watches until stop is called, and returns when what is there has been seen. Without reports of the system nothing is looked at
// within interval.
func (b *filesBundle) watching(t *testing.T, interval time.Duration) (stop func()) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	watcher := watch.New(interval, logger)
	w := &workspaces{stateDir: b.dir, seen: workspace.New(b.dir, workspace.Options{}).NewWatch(), watcher: watcher, logger: logger,
		publish: func(m push.Message) { b.told <- m }, places: map[string]context.CancelFunc{}, dirty: make(chan string), started: make(chan struct{})}
	if b.log != nil {
		w.changes = newChangeLog(b.log, w.seen.Gone, w.read, time.Now)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- watcher.Run(ctx) }()
	go func() { ended <- w.run(ctx) }()
	<-w.started
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (b *filesBundle) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (b *filesBundle) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// expect waits for messages, in short, and takes no others.
func (b *filesBundle) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case m := <-b.told:
			if got := short(t, m); got != w {
				t.Errorf("told %s, want %s", got, w)
			}
		case <-time.After(patience):
			t.Fatalf("not told %s", w)
		}
	}
}

func short(t *testing.T, m push.Message) string {
	t.Helper()
	data, err := json.Marshal(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s %s %s", m.Type, m.AgentID, m.TaskID, data)
}

// A look without reports would take an hour.
func TestChangesOfFilesAreToldAtOnceAndOnce(t *testing.T) {
	t.Parallel()
	b := newFiles(t)
	b.write(t, "workspace-eden/tasks/task_old.md", "x")
	b.write(t, "workspace-eden/.openclaw/plans/old.json", "{}")
	b.watching(t, time.Hour)
	const steps = "## Steps\n- [x] (a) one\n- [>] (b) two\n- [ ] (c) three\n"
	b.write(t, "workspace-eden/tasks/task_a1.md", steps)
	b.expect(t, `task_update eden task_a1 {"event":"add","file":"task_a1.md"}`,
		`task_step_update eden task_a1 {"event":"add","file":"task_a1.md","stepsProgress":{"total":3,"done":1,"inProgress":1,"pending":1,"skipped":0},"stepCount":3}`)
	b.write(t, "workspace-eden/tasks/task_a1.lock", "1")
	b.write(t, "workspace-eden/tasks/.task_a1.md.tmp", "1")
	b.write(t, "workspace-eden/node_modules/x/CURRENT_TASK.md", "1")
	b.write(t, "workspace-eden/tasks/task_Old.md", "no steps")
	b.expect(t, `task_update eden  {"event":"add","file":"task_Old.md"}`)
	b.write(t, "workspace-eden/tasks/task_old.md", "other")
	b.expect(t, `task_update eden task_old {"event":"change","file":"task_old.md"}`)
	b.remove(t, "workspace-eden/tasks/task_old.md")
	b.expect(t, `task_update eden task_old {"event":"unlink","file":"task_old.md"}`)
	b.write(t, "workspace-eden/CURRENT_TASK.md", "x")
	b.expect(t, `agent_update eden  {"event":"add","file":"CURRENT_TASK.md"}`)
	b.write(t, "workspace-eden/MILESTONES.md", "x")
	b.expect(t, `task_update eden  {"event":"add","file":"MILESTONES.md"}`)
	b.write(t, "workspace-eden/.openclaw/plans/old.json", `{"id":1}`)
	b.expect(t, `plan_update eden  {"event":"change","file":"old.json"}`)
	b.write(t, "workspace-eden/plans/p.json", "{}")
	b.expect(t, `plan_update eden  {"event":"add","file":"p.json"}`)
	b.write(t, "plans/seum_plan_1.json", "{}")
	b.expect(t, `plan_update seum  {"event":"add","file":"seum_plan_1.json"}`)
	b.write(t, "team-state.json", "{}")
	b.expect(t, `team_state_update   {"event":"add","file":"team-state.json"}`)
	b.write(t, "workspace-eden/task-history/2026-02.md", "not told")
	if err := os.Rename(filepath.Join(b.dir, "workspace-eden/tasks/task_a1.md"), filepath.Join(b.dir, "workspace-eden/tasks/task_a2.md")); err != nil {
		t.Fatal(err)
	}
	b.expect(t, `task_update eden task_a2 {"event":"add","file":"task_a2.md"}`,
		`task_step_update eden task_a2 {"event":"add","file":"task_a2.md","stepsProgress":{"total":3,"done":1,"inProgress":1,"pending":1,"skipped":0},"stepCount":3}`,
		`task_update eden task_a1 {"event":"unlink","file":"task_a1.md"}`)
	if len(b.told) > 0 {
		t.Errorf("also told: %s", short(t, <-b.told))
	}
}

func TestNewWorkspacesAreWatched(t *testing.T) {
	t.Parallel()
	b := newFiles(t)
	stop := b.watching(t, 5*time.Millisecond)
	b.write(t, "workspace-late/tasks/task_a.md", "one")
	b.expect(t, `task_update late task_a {"event":"add","file":"task_a.md"}`)
	b.write(t, "workspace-late/tasks/task_a.md", "two")
	b.expect(t, `task_update late task_a {"event":"change","file":"task_a.md"}`)
	if err := os.RemoveAll(filepath.Join(b.dir, "workspace-late")); err != nil {
		t.Fatal(err)
	}
	b.expect(t, `task_update late task_a {"event":"unlink","file":"task_a.md"}`)
	stop()
	if len(b.told) > 0 {
		t.Errorf("also told: %s", short(t, <-b.told))
	}
}

// A program that replaced the lock of a database would let a second server write to it. A link to the database changes nothing.
func TestNothingOfTheDatabaseIsReplaced(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	b := &filesBundle{dir: p.opts.StateDir}
	b.write(t, "workspace-link/x", "")
	b.write(t, "workspace-eden/x", "")
	p.opts.DB = filepath.Join(b.dir, "workspace-link", "log")
	p.opts.Backups.Dir = filepath.Join(b.dir, "workspace-eden", "safe")
	if err := os.Symlink(filepath.Join(b.dir, "workspace-eden", database.Name), p.opts.DB); err != nil {
		t.Fatal(err)
	}
	if err := p.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	files := p.newWorkspace()
	for _, name := range []string{"eden/openclawd.db", "eden/openclawd.db-wal", "eden/openclawd.db-shm", "eden/openclawd.db.lock", "eden/openclawd.db-search.db",
		"eden/openclawd.db-search.db-wal", "eden/backups/openclawd.json", "eden/safe/openclawd.json", "link/log", "link/log.lock", "link/log.import.json",
		"link/log.import.json.new", "link/log.mirror.json", "link/backups/x"} {
		var refused *workspace.RefusedError
		if _, err := files.Write("workspace-"+name, []byte("x")); !errors.As(err, &refused) || refused.Reason != workspace.ReasonOurs {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := files.Write("workspace-eden/notes.md", []byte("x")); err != nil {
		t.Error(err)
	}
}

// The whole program: a file changes, every client is notified, the log keeps it, and the API shows it.
func TestProgramFollowsFiles(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	p.opts.Follow = true
	b := &filesBundle{dir: p.opts.StateDir}
	b.write(t, "workspace-eden/tasks/task_old.md", "x")
	ctx := t.Context()
	api, _ := starts(t, p, ready)
	if _, err := p.log.Wait(ctx, 1); err != nil { // what was there has been seen
		t.Fatal(err)
	}
	conn, response, err := websocket.DefaultDialer.DialContext(ctx, "ws://"+api.String()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	defer conn.Close()
	var frame struct{ Type, AgentID, TaskID string }
	read := func() string {
		if err := errors.Join(conn.SetReadDeadline(time.Now().Add(patience)), conn.ReadJSON(&frame)); err != nil {
			t.Fatal(err)
		}
		return frame.Type
	}
	if first := read(); first != "connected" {
		t.Errorf("first frame: %s", first)
	}
	start := time.Now()
	b.write(t, "workspace-eden/tasks/task_new.md", "## Steps\n- [x] (a) one\n")
	if first, second := read(), read(); first != "task_update" || second != "task_step_update" || frame.TaskID != "task_new" {
		t.Errorf("%s, %s: %+v", first, second, frame)
	}
	t.Logf("told after %v", time.Since(start))
	if _, err := p.log.Wait(ctx, 2); err != nil {
		t.Fatal(err)
	}
}
