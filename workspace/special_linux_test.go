package workspace_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pronto-lab/openclawd/workspace"
)

func TestPipesDoNotMakeAnybodyWait(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "workspace-eden/tasks/task_a.md", "## Description\nopen")
	must(t, syscall.Mkfifo(filepath.Join(h.path, "workspace-eden/tasks/task_pipe.md"), 0o644))
	must(t, syscall.Mkfifo(filepath.Join(h.path, "workspace-eden/CURRENT_TASK.md"), 0o644))
	tasks, err := h.Tasks("eden")
	must(t, err)
	if len(tasks.Tasks) != 1 || len(tasks.Faults) != 1 || tasks.Faults[0].Error != workspace.ReasonSpecial {
		t.Errorf("%+v", tasks)
	}
	if c, err := h.Current("eden"); err != nil || c.Exists {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := h.Write("workspace-eden/CURRENT_TASK.md", nil); err == nil {
		t.Error("a pipe was replaced")
	}
}

func TestPipesHaveNoExcerpt(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	h.write(t, "A.md", "text")
	must(t, syscall.Mkfifo(filepath.Join(h.path, "PIPE.md"), 0o644))
	all := h.Excerpts([]string{"PIPE.md", "A.md"}, 10, 7, 2)
	if all[0].Err == nil || all[1].Err != nil || all[1].Head != "text" {
		t.Errorf("%+v", all)
	}
}
