package server

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/eventstore"
)

// startedTask is a task of an agent in a log.
func startedTask(t *testing.T, p *Program, agent, id string) {
	t.Helper()
	data, err := json.Marshal(coordination.TaskStarted{Context: coordination.Context{TaskID: id, WorkSessionID: "ws_" + id, EventRole: coordination.RoleOrchestration},
		Priority: "medium", Description: "what to do", Progress: "Task started"})
	if err == nil {
		_, err = p.log.Append(t.Context(), eventstore.StreamAppend{Stream: coordination.TaskStream(id), Events: []eventstore.NewEvent{
			{Type: coordination.TypeTaskStarted, AgentID: agent, Actor: eventstore.ActorAgent, Data: data}}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// settledFiles waits until the log is in the files.
func settledFiles(t *testing.T, p *Program) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	head, err := p.log.Head(ctx)
	if err == nil {
		err = p.taskFiles.syncer.Settled(ctx, head.Seq)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The whole program: files are imported, changes are written, and edits are put aside, reported and undone at once.
func TestProgramKeepsTaskFiles(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	b := &filesBundle{dir: p.opts.StateDir}
	b.write(t, "openclaw.json", `{"agents":{"defaults":{"taskContinuation":{"enabled":false}},"list":[{"id":"eden"},{"id":"seum","workspace":"elsewhere"}]}}`)
	b.write(t, "workspace-eden/tasks/task_old.md", taskfile.Format(&taskfile.Task{ID: "task_old", Status: "in_progress", Priority: "high", Description: "an old one",
		Created: "2026-02-20T10:00:00.000Z", LastActivity: "2026-02-20T10:00:00.000Z"}))
	api, _ := starts(t, p, ready)
	startedTask(t, p, "eden", "task_new")
	startedTask(t, p, "seum", "task_far")
	settledFiles(t, p)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(b.dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for _, name := range []string{"workspace-eden/tasks/task_old.md", "workspace-eden/tasks/task_new.md", "elsewhere/tasks/task_far.md"} {
		if got, ok := taskfile.Parse(strings.TrimSuffix(filepath.Base(name), ".md"), read(name)); !ok || got.Status != coordination.StateInProgress {
			t.Errorf("%s: %+v", name, got)
		}
	}
	whole := read("workspace-eden/tasks/task_new.md")
	b.write(t, "workspace-eden/tasks/task_new.md", "# mine")
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.taskFiles.syncer.State().Conflicts == 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("the edit was not noticed")
		}
	}
	settledFiles(t, p)
	if got, kept := read("workspace-eden/tasks/task_new.md"), read("workspace-eden/tasks/task_new.md.conflict"); got != whole || kept != "# mine" {
		t.Errorf("%q, kept %q", got, kept)
	}
	var health struct{ TaskFiles *health.TaskFilesState }
	response, err := http.Get("http://" + api.String() + "/api/health")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&health); err != nil || health.TaskFiles == nil || health.TaskFiles.Conflicts != 1 ||
		health.TaskFiles.Failing != 0 || len(health.TaskFiles.Kept) != 1 {
		t.Errorf("health: %+v, %v", health.TaskFiles, err)
	}
}

// Thousands of files are checked one after the other: their directory is not resolved for each, but again after a while, and when the
// configuration changes.
func TestTaskDirectoriesAreKeptBriefly(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	b := &filesBundle{dir: p.opts.StateDir}
	b.write(t, "openclaw.json", `{"agents":{"list":[{"id":"eden","workspace":"home"},{"id":"seum","workspace":"link"}]}}`)
	b.write(t, "home/x", "")
	if err := p.configure(); err != nil {
		t.Fatal(err)
	}
	if err := p.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.openTaskFiles(t.Context())
	files := p.taskFiles
	if files.dir("seum") == "" {
		t.Fatal("a workspace of its own is refused")
	}
	if err := os.Symlink(filepath.Join(b.dir, "home"), filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	known := files.dirs["seum"]
	known.until = time.Now().Add(time.Hour)
	files.dirs["seum"] = known
	if files.dir("seum") == "" {
		t.Error("the directory was resolved again at once")
	}
	other := known
	other.config = nil
	files.dirs["seum"] = other
	if dir := files.dir("seum"); dir != "" {
		t.Errorf("with another configuration it is still %s", dir)
	}
	known.until = time.Now()
	files.dirs["seum"] = known
	if dir := files.dir("seum"); dir != "" {
		t.Errorf("after a while it is still %s", dir)
	}
}

// Nothing overwrites the database, nor one agent's files by another's.
func TestTaskFilesKeepAwayFromWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ eden, seum, db, backups, refused string }{
		"the database among tasks":      {eden: "home", db: "home/tasks/log.db", refused: "eden"},
		"the database among months":     {eden: "home", db: "home/task-history/log.db", refused: "eden"},
		"the database called as a file": {eden: "home", db: "home/CURRENT_TASK.md", refused: "eden"},
		"backups are the workspace":     {eden: "home", backups: "home", refused: "eden"},
		"backups around it":             {eden: "home/eden", backups: "home", refused: "eden"},
		"backups among tasks":           {eden: "home", backups: "home/tasks", refused: "eden"},
		"a workspace of two":            {eden: "home", seum: "home", refused: "seum"},
		"one among the other's tasks":   {eden: "home", seum: "home/tasks", refused: "seum"},
		"the first in the other's":      {eden: "home/tasks", seum: "home", refused: "eden"},
		"one behind a link":             {eden: "home", seum: "link", refused: "seum"},
		"beside it, with its beginning": {eden: "home", seum: "home2"},
		"each has its own":              {eden: "home", seum: "other", db: "home/log.db", backups: "home/backups"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := testProgram(t)
			b := &filesBundle{dir: p.opts.StateDir}
			list, err := json.Marshal([]map[string]string{{"id": "eden", "workspace": tt.eden}, {"id": "seum", "workspace": tt.seum}})
			if err != nil {
				t.Fatal(err)
			}
			b.write(t, "openclaw.json", `{"agents":{"list":`+string(list)+`}}`)
			for _, dir := range []string{"home/tasks", "home/task-history", "home/eden", "other"} {
				b.write(t, dir+"/x", "")
			}
			if err := os.Symlink(filepath.Join(b.dir, "home", "eden"), filepath.Join(b.dir, "link")); err != nil {
				t.Fatal(err)
			}
			if tt.db != "" {
				p.opts.DB = filepath.Join(b.dir, tt.db)
			}
			if tt.backups != "" {
				p.opts.Backups.Dir = filepath.Join(b.dir, tt.backups)
			}
			if err := p.configure(); err != nil {
				t.Fatal(err)
			}
			if err := p.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			p.openTaskFiles(t.Context())
			for _, agent := range []string{"eden", "seum"} {
				if dir := p.taskFiles.dir(agent); (dir == "") != (agent == tt.refused) {
					t.Errorf("%s writes to %q", agent, dir)
				}
			}
			if state := p.taskFilesState(t.Context()); len(state.Refused) != min(len(tt.refused), 1) {
				t.Errorf("%+v", state)
			}
		})
	}
}
