package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestAgentsAreTheWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	if ids, err := h.Agents(); err != nil || len(ids) != 0 {
		t.Errorf("without a state directory: %v, %v", ids, err)
	}
	for _, name := range []string{"workspace-seum/x", "workspace-eden/x", "workspace-한결/x", "workspace/x", "workspace-/x", "workspace-..x/x", "other/x"} {
		h.write(t, name, "")
	}
	h.write(t, "workspace-file", "")
	h.link(t, filepath.Join(h.path, "workspace-eden"), "workspace-link")
	ids, err := h.Agents()
	must(t, err)
	if want := []string{"eden", "seum", "한결"}; !slices.Equal(ids, want) {
		t.Errorf("agents: %q, want %q", ids, want)
	}
	for id, want := range map[string]bool{"eden": true, "한결": true, "stranger": false, "file": false, "link": false} {
		if there, err := h.HasAgent(id); err != nil || there != want {
			t.Errorf("%s: %t, %v", id, there, err)
		}
	}
	if _, err := h.Tasks("stranger"); !errors.Is(err, workspace.ErrNoAgent) {
		t.Errorf("tasks of a missing agent: %v", err)
	}
	if tasks, err := h.Tasks("seum"); err != nil || tasks.Files != 0 {
		t.Errorf("a workspace without tasks: %+v, %v", tasks, err)
	}
}

// The secret is stored where each hostile name would lead if it were joined to a path.
func TestNoNameLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	const secret = "# Task: x\n\n## Description\nsecret\n**Task ID:** x\n"
	h.write(t, "workspace-eden/tasks/task_a.md", "## Description\nopen")
	h.write(t, "workspace-eden/AGENTS.md", secret)
	h.write(t, "workspace-eden/tasks/notes.md", secret)
	h.write(t, "workspace-eden/task-history/notes.md", secret)
	h.write(t, "AGENTS.md", secret)
	h.write(t, "b.md", secret)
	for _, name := range append(hostile, "notes", "../notes", "../AGENTS", "task_a/../notes", "task_a/../../AGENTS", "task_../../AGENTS", "task_\x00") {
		if there, err := h.HasAgent(name); there || err != nil {
			t.Errorf("agent %q: %t, %v", name, there, err)
		}
		if task, ok, err := h.Task("eden", name); ok || err != nil {
			t.Errorf("task %q: %+v, %v", name, task, err)
		}
		if entry, err := h.HistoryOf("eden", name); entry != nil || err != nil {
			t.Errorf("history of %q: %+v, %v", name, entry, err)
		}
		if name == "" {
			continue
		}
		if history, err := h.History("eden", name); err != nil || history.Read != nil {
			t.Errorf("month %q: %+v, %v", name, history, err)
		}
	}
	if _, ok, err := h.Task("eden", "task_a"); !ok || err != nil {
		t.Error("the open task is not there")
	}
}

// Promise: attacks
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "elsewhere/task_a.md", "## Description\nsecret")
	h.write(t, "elsewhere/2026-02.md", "## [x] secret\n**Task ID:** task_a\n")
	h.write(t, "elsewhere/p.json", `{"id":"secret"}`)
	h.write(t, "elsewhere/tasks/task_a.md", "## Description\nsecret")
	h.write(t, "workspace-whole/x", "")
	inside, outside := filepath.Join(h.path, "elsewhere"), t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "x.md"), []byte("## Description\nsecret"), 0o644))

	h.link(t, inside, "workspace-agent")                          // the workspace itself
	h.link(t, inside, "workspace-dirs/tasks")                     // a directory
	h.link(t, "../elsewhere", "workspace-dirs/task-history")      // relative, inside
	h.link(t, inside, "workspace-dirs/.openclaw")                 // a step on the way
	h.link(t, outside+"/x.md", "workspace-files/tasks/task_a.md") // files
	h.link(t, "../../elsewhere/2026-02.md", "workspace-files/task-history/2026-02.md")
	h.link(t, "../../../elsewhere/p.json", "workspace-files/.openclaw/plans/p.json")
	h.link(t, outside+"/x.md", "workspace-files/CURRENT_TASK.md")
	h.link(t, inside, "plans")
	h.link(t, inside+"/p.json", "team-state.json")

	for _, agent := range []string{"dirs", "files"} {
		tasks, err := h.Tasks(agent)
		must(t, err)
		_, found, err := h.Task(agent, "task_a")
		must(t, err)
		entry, err := h.HistoryOf(agent, "task_a")
		must(t, err)
		history, err := h.History(agent, "2026-02")
		must(t, err)
		plans, _, err := h.Plans(agent)
		must(t, err)
		current, err := h.Current(agent)
		must(t, err)
		if len(tasks.Tasks)+len(plans) > 0 || found || entry != nil || history.Read != nil || current.Exists {
			t.Errorf("%s: %+v %t %+v %+v %+v %+v", agent, tasks, found, entry, history, plans, current)
		}
		if want := workspace.ReasonLink; len(tasks.Faults) != 1 || tasks.Faults[0].Error != want {
			t.Errorf("%s: faults %+v, want one %q", agent, tasks.Faults, want)
		}
	}
	if there, err := h.HasAgent("agent"); there || err != nil {
		t.Errorf("a linked workspace: %t, %v", there, err)
	}
	if state, faults, err := h.TeamState(); state != nil || len(faults) != 1 || err != nil {
		t.Errorf("linked team state: %v, %v, %v", state, faults, err)
	}
}

// A link that is put there between check and step reveals nothing either.
func TestLinksPutThereMeanwhileAreNotFollowed(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "workspace-eden/tasks/task_a.md", "## Description\nopen")
	h.write(t, "secret/task_a.md", "## Description\nsecret")
	real, linked := filepath.Join(h.path, "workspace-eden", "tasks"), filepath.Join(h.path, "secret")
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			err := errors.Join(os.Rename(real, real+".kept"), os.Symlink(linked, real), os.Remove(real), os.Rename(real+".kept", real),
				os.Rename(real+"/task_a.md", real+"/kept"), os.Symlink(linked+"/task_a.md", real+"/task_a.md"),
				os.Remove(real+"/task_a.md"), os.Rename(real+"/kept", real+"/task_a.md"))
			if err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
		}
	}()
	read := 0
	for i := 0; i < 1_000 || read == 0 && i < 1_000_000; i++ {
		task, ok, err := h.Task("eden", "task_a")
		if err != nil {
			t.Error(err)
			break
		}
		if ok && task.Description != "open" {
			t.Fatalf("read %q", task.Description)
		}
		if ok {
			read++
		}
	}
	close(stop)
	must(t, <-ended)
	if read == 0 {
		t.Error("the task was never read")
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "workspace-eden/tasks/task_big.md", strings.Repeat("x", workspace.MaxFileBytes+1))
	h.write(t, "workspace-eden/tasks/task_full.md", "## Description\n"+strings.Repeat("x", workspace.MaxFileBytes-len("## Description\n")))
	h.write(t, "workspace-eden/tasks/task_bad.md", "## Description\na\xffb\xed\xa0\x80c\x00")
	h.write(t, "workspace-eden/task-history/2026-02.md", strings.Repeat("x", workspace.MaxFileBytes+1))
	must(t, os.MkdirAll(filepath.Join(h.path, "workspace-eden/tasks/task_dir.md"), 0o755))
	tasks, err := h.Tasks("eden")
	must(t, err)
	if want := []workspace.Fault{{File: "workspace-eden/tasks/task_big.md", Error: workspace.ReasonSize}}; !cmp.Equal(tasks.Faults, want) {
		t.Errorf("faults: %+v", tasks.Faults)
	}
	if len(tasks.Tasks) != 2 || tasks.Tasks[0].Description != "a\uFFFDb\uFFFDc\x00" || len(tasks.Tasks[1].Description) != workspace.MaxFileBytes-15 {
		t.Errorf("%d tasks, the first says %q", len(tasks.Tasks), tasks.Tasks[0].Description)
	}
	history, err := h.History("eden", "")
	must(t, err)
	if history.Read != nil || len(history.Faults) != 1 || history.Month != "2026-02" {
		t.Errorf("history: %+v", history)
	}
}

func TestPlansOfAnAgentAndOfTheTeam(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	for name, text := range map[string]string{
		"workspace-eden/.openclaw/plans/own.json":    `{"id":"own"}`,
		"workspace-eden/.openclaw/plans/broken.json": `{ not json`,
		"workspace-eden/.openclaw/plans/list.json":   `[1]`,
		"workspace-eden/.openclaw/plans/notes.md":    `x`,
		"workspace-eden/plans/other.json":            `{"id":"other"}`,
		"plans/eden_x.json":                          `{"id":"by name"}`,
		"plans/eden_broken.json":                     `x`,
		"plans/x.json":                               `{"id":"by member","agentId":"eden"}`,
		"plans/y.json":                               `{"id":"not ours","agentId":"seum"}`,
		"plans/broken.json":                          `x`,
	} {
		h.write(t, name, text)
	}
	plans, faults, err := h.Plans("eden")
	must(t, err)
	var ids, files []string
	for i := range plans {
		ids = append(ids, plans[i].Text("id"))
	}
	for _, f := range faults {
		files = append(files, f.File)
		if f.Error != workspace.ReasonJSON {
			t.Errorf("%+v", f)
		}
	}
	if want := []string{"own", "other", "by name", "by member"}; !slices.Equal(ids, want) {
		t.Errorf("plans: %q, want %q", ids, want)
	}
	if want := []string{"workspace-eden/.openclaw/plans/broken.json", "workspace-eden/.openclaw/plans/list.json", "plans/eden_broken.json"}; !slices.Equal(files, want) {
		t.Errorf("faults: %q, want %q", files, want)
	}
}
