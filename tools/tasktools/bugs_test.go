package tasktools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// The original abandoned tasks without activity for a day at start, and so lost tasks that waited for approval.
func TestBug20_RestartsAbandonNothing(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	waiting := o.does("ruda", "task_start", `{"description":"x","requires_approval":true}`).text("taskId")
	active := o.starts("ruda", "y")
	o.pass(72 * time.Hour)
	again := o.reopened()
	for id, status := range map[string]string{waiting: "pending_approval", active: "in_progress"} {
		if got := again.task("ruda", id).text("status"); got != status {
			t.Errorf("%s is %s", id, got)
		}
	}
	again.does("eden", "task_approve", `{"task_id":%q}`, waiting)
}

// The original treated a dependency that was cancelled, or never existed, as completed.
func TestBug23_OnlyCompletedDependenciesAreMet(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	needed := o.does("seum", "task_backlog_add", `{"description":"needed"}`).text("taskId") // in another workspace
	waits := o.does("ruda", "task_backlog_add", `{"description":"waits","depends_on":[%q]}`, needed).text("taskId")
	refused := func(state string) {
		t.Helper()
		a := o.refuses(task.CodeDependency, "ruda", "task_pick_backlog", `{"task_id":%q}`, waits)
		if !strings.Contains(a.text("error"), needed) || !strings.Contains(a.text("error"), state) {
			t.Errorf("refused: %v; want %s", a, state)
		}
	}
	refused("backlog")
	o.does("seum", "task_pick_backlog", `{}`)
	refused("in_progress")
	o.does("seum", "task_cancel", `{"task_id":%q}`, needed)
	refused("cancelled")
	o.refuses(task.CodeUnknown, "ruda", "task_backlog_add", `{"description":"x","depends_on":["task_that_never_was"]}`)
	done := o.starts("seum", "done")
	next := o.does("ruda", "task_backlog_add", `{"description":"next","depends_on":[%q]}`, done).text("taskId")
	o.does("seum", "task_complete", `{}`)
	if a := o.does("ruda", "task_pick_backlog", `{}`); a.text("taskId") != next {
		t.Errorf("picked: %v", a)
	}
}

// The original's block, cancel and resume wrote back what they had read before the lock.
func TestBug24_WhatIsWrittenBetweenIsKept(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"}]}`).text("taskId")
	const n = 12
	together(n, func(i int) struct{} {
		var err error
		switch i % 3 {
		case 0:
			_, err = o.call(caller("ruda"), "task_update", fmt.Sprintf(`{"task_id":%q,"progress":"line %d"}`, id, i))
		case 1:
			_, err = o.call(caller("ruda"), "task_block", fmt.Sprintf(`{"task_id":%q,"reason":"r%d","unblock_by":["eden"]}`, id, i))
		case 2:
			_, err = o.call(caller("ruda"), "task_resume", fmt.Sprintf(`{"task_id":%q}`, id))
		}
		if err != nil {
			t.Error(err)
		}
		return struct{}{}
	})
	shown := o.task("ruda", id)
	var lines []string
	for _, l := range shown.list("progress") {
		lines = append(lines, l.(string))
	}
	for i := 0; i < n; i += 3 {
		if !slices.Contains(lines, fmt.Sprintf("line %d", i)) {
			t.Errorf("line %d is lost: %q", i, lines)
		}
	}
	if shown.number("version") != len(o.events(id)) || shown.number("progressCount") != len(lines) || len(lines) != len(o.events(id)) {
		t.Errorf("version %v, %v lines, %d events, %q", shown["version"], shown["progressCount"], len(o.events(id)), lines)
	}
}

// In the original an agent approved its own tasks, without a lock, and there was no way to reject one.
func TestBug25_NoAgentApprovesItsOwn(t *testing.T) {
	t.Parallel()
	own := map[string]string{"task_approve": `{"task_id":%q}`, "task_reject": `{"task_id":%q,"reason":"r"}`}
	for name, settings := range map[string]string{
		"worker": team,
		"lead":   `agents: {list: [{id: 'ruda', role: 'lead', default: true}, {id: 'eden'}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setup(t, settings)
			id := o.does("ruda", "task_start", `{"description":"x","requires_approval":true}`).text("taskId")
			other := caller("ruda")
			other.SessionKey = "agent:ruda:other"
			for _, c := range []string{"agent:ruda:main", other.SessionKey} {
				who := caller("ruda")
				who.SessionKey = c
				for tool, args := range own {
					if a, err := o.call(who, tool, fmt.Sprintf(args, id)); err != nil || a.text("code") != task.CodeNotAllowed {
						t.Errorf("%s, %s: %v, %v", c, tool, a, err)
					}
				}
			}
			all := together(4, func(i int) outcome {
				tool := []string{"task_approve", "task_reject"}[i%2]
				a, err := o.call(caller("ruda"), tool, fmt.Sprintf(own[tool], id))
				return outcome{a, err}
			})
			if n := count(t, all); n[task.CodeNotAllowed] != 4 {
				t.Errorf("outcomes are %v", n)
			}
			if got := o.task("ruda", id).text("status"); got != "pending_approval" {
				t.Errorf("it is %s", got)
			}
			for _, person := range []string{"", " ", "a\nb", strings.Repeat("x", 201)} {
				if _, err := o.service.Approve(t.Context(), id, person); code(err) != task.CodeInvalid {
					t.Errorf("a person called %q approves it: %v", person, err)
				}
				if _, err := o.service.Reject(t.Context(), id, person, "r"); code(err) != task.CodeInvalid {
					t.Errorf("a person called %q rejects it: %v", person, err)
				}
			}
		})
	}
}

// In the original a step that was completed began the next one although another was in progress.
func TestBug26_OneStepAtATime(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	o.does("ruda", "task_start", `{"description":"x","steps":[{"content":"a"},{"content":"b"},{"content":"c"}]}`)
	o.does("ruda", "task_update", `{"action":"start_step","step_id":"s2"}`)
	a := o.does("ruda", "task_update", `{"action":"complete_step","step_id":"s1"}`)
	if n := a.object("steps"); n.number("inProgress") != 1 || n.number("pending") != 1 || a.text("currentStep") != "s2" {
		t.Errorf("steps are %v", a)
	}
}

// Completion is one event: nothing can fail between it and the history.
func TestBug33_CompletionIsOneEvent(t *testing.T) {
	t.Parallel()
	o := setup(t, team)
	id := o.starts("ruda", "x")
	o.does("ruda", "task_complete", `{"summary":"끝"}`)
	if got := o.types(id); !slices.Equal(got, []string{"task.started", "task.completed"}) {
		t.Errorf("events are %v", got)
	}
	again := o.reopened()
	if a := again.task("ruda", id); a.text("status") != "completed" || a.object("outcome").text("summary") != "끝" {
		t.Errorf("the task is %v", a)
	}
	if a := again.does("ruda", "task_list", `{}`); a.number("count") != 0 {
		t.Errorf("open are %v", a)
	}
}
