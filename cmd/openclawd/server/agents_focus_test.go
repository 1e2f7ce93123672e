package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools/a2a/a2atest"
)

// What an agent sends while it has a task in focus belongs to that task and its work session. A focus that is none, or that cannot be read,
// makes no difference.
func TestWhatIsSentBelongsToTheTaskInFocus(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"eden", "seum"}, func(a2atest.Asked) a2atest.Answer { return a2atest.Say("[NO_REPLY]") })
	if err := os.MkdirAll(filepath.Join(team.Program.opts.StateDir, "workspace-eden", "tasks"), 0o700); err != nil {
		t.Fatal(err)
	}
	team.write(t, "workspace-eden/CURRENT_TASK.md", "**Focus:** task_a\n\n## a title\n")
	team.write(t, "workspace-eden/tasks/task_a.md", "# Task\n\n## Metadata\n- **Status:** in_progress\n- **Work Session:** ws_focus\n")
	if r := team.hands(t, "hello", ""); r.WorkSessionID != "ws_focus" || r.TaskID != "task_a" {
		t.Errorf("%+v", r)
	}
	for name, c := range map[string]struct{ current, task, wantTask, wantSession string }{
		"of a task without a work session": {"**Focus:** task_b", "## Metadata\n- **Status:** pending\n", "task_b", ""},
		"of a task with a long file":       {"**Focus:** task_b", "## Metadata\n- **Work Session:** ws_b\n## Progress\n" + strings.Repeat("- more\n", 50_000), "task_b", "ws_b"},
		"of a task that is over":           {"**Focus:** task_c", "", "", ""},
		"elsewhere":                        {"**Focus:** ../task_b", "", "", ""},
		"no focus":                         {"No task in progress", "", "", ""},
		"a text":                           {"**Task:** to tidy up", "", "", ""},
		"no text":                          {"**Focus:** task_b\x00", "", "", ""},
	} {
		team.write(t, "workspace-eden/CURRENT_TASK.md", c.current)
		team.write(t, "workspace-eden/tasks/task_b.md", c.task)
		if task, ws := team.Program.currentTask("eden"); task != c.wantTask || ws != c.wantSession {
			t.Errorf("%s: %q, %q; want %q, %q", name, task, ws, c.wantTask, c.wantSession)
		}
	}
	for _, agent := range []string{"seum", "nobody", "../workspace-eden"} {
		if task, ws := team.Program.currentTask(agent); task != "" || ws != "" {
			t.Errorf("%s: %q, %q", agent, task, ws)
		}
	}
}
