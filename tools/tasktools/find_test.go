package tasktools_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// A call without a task means the one in focus; without a focus, because only files have the tasks, the first in progress in list order.
func TestWhoNamesNoTaskMeansTheFirstInProgress(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	file := func(priority, status string) string {
		id := newTaskID()
		o.imports(id, "# Task: "+id+"\n\n## Metadata\n- **Status:** "+status+"\n- **Priority:** "+priority+
			"\n- **Created:** 2026-02-01T00:00:00.000Z\n\n## Description\nx\n")
		return id
	}
	file("urgent", coordination.StateBlocked)
	low, high := file("low", coordination.StateInProgress), file("high", coordination.StateInProgress)
	if a := o.does("ruda", "task_status", `{}`); a["currentFocus"] != nil {
		t.Errorf("in focus is %v", a["currentFocus"])
	}
	if a := o.does("ruda", "task_update", `{"progress":"p"}`); a.text("taskId") != high {
		t.Errorf("it means %v, want %s", a, high)
	}
	if a := o.does("ruda", "task_status", `{}`); a.text("currentFocus") != high {
		t.Errorf("in focus is %v, want %s", a["currentFocus"], high)
	}
	if a := o.does("ruda", "task_complete", `{}`); a.text("taskId") != high {
		t.Errorf("it means %v, want %s", a, high)
	}
	if a := o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`); a.text("taskId") != low {
		t.Errorf("it means %v, want %s", a, low)
	}
}
