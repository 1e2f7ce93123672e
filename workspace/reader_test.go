package workspace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/workspace"
)

// A Reader reads no more than its limit, whatever is cached, and names the files it leaves out.
func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{ReadBytes: 250})
	text := "## Description\n" + strings.Repeat("x", 85) // 100 bytes
	for _, name := range []string{"a", "b", "c"} {
		h.write(t, "workspace-eden/tasks/task_"+name+".md", text)
		h.write(t, "workspace-seum/tasks/task_"+name+".md", text)
	}
	h.write(t, "workspace-eden/tasks/task_d.md", "## Description\nshort")
	h.settle()
	full := func(agent, name string) workspace.Fault {
		return workspace.Fault{File: "workspace-" + agent + "/tasks/task_" + name + ".md", Error: workspace.ReasonFull}
	}
	for range 2 {
		reading, err := h.Begin(t.Context())
		must(t, err)
		for _, want := range []struct {
			agent        string
			tasks, files int
			faults       []workspace.Fault
		}{
			{"eden", 3, 4, []workspace.Fault{full("eden", "c")}},
			{"seum", 0, 3, []workspace.Fault{full("seum", "a"), full("seum", "b"), full("seum", "c")}},
		} {
			tasks, err := reading.Tasks(want.agent)
			must(t, err)
			if len(tasks.Tasks) != want.tasks || tasks.Files != want.files || !cmp.Equal(tasks.Faults, want.faults) {
				t.Errorf("%s: %d tasks of %d files, %+v", want.agent, len(tasks.Tasks), tasks.Files, tasks.Faults)
			}
		}
		reading.End()
	}
}

// A plan of the team that was not read may be any agent's.
func TestPlansAreBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{ReadBytes: 30})
	h.write(t, "workspace-eden/plans/a.json", `{"id":"0123456789"}`)
	h.write(t, "workspace-eden/plans/b.json", `{"id":"0123456789"}`)
	h.write(t, "plans/a.json", `{"agentId":"eden"}`)
	plans, faults, err := h.Plans("eden")
	must(t, err)
	want := []workspace.Fault{{File: "workspace-eden/plans/b.json", Error: workspace.ReasonFull}, {File: "plans/a.json", Error: workspace.ReasonFull}}
	if len(plans) != 1 || !slices.Equal(faults, want) {
		t.Errorf("%d plans, %+v", len(plans), faults)
	}
}

func TestOnlySomeReadingsGoOnAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t, workspace.Options{})
	open := make([]*workspace.Reader, workspace.Readings)
	for i := range open {
		reading, err := h.Begin(t.Context())
		must(t, err)
		open[i] = reading
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := h.Begin(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("one too many: %v", err)
	}
	open[0].End()
	reading, err := h.Begin(t.Context())
	must(t, err)
	open[0] = reading
	for _, reading := range open {
		reading.End()
	}
}
