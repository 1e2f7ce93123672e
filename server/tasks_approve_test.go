package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Agents do not approve their own requests. When another one does, the task starts.
func TestTasksAreApprovedByOthers(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, nil)
	asked := uses(t, team.client, "ruda", "task_start", map[string]any{"description": "tear the house down", "requires_approval": true,
		"steps": []map[string]string{{"content": "first"}, {"content": "second"}, {"content": "third"}}})
	if !asked.Success || asked.Status != coordination.StatePendingApproval {
		t.Fatalf("asked: %+v", asked)
	}
	waiting := boardOf{status: "pending_approval", session: "ACTIVE", steps: "0/0/3/0", last: "Task created - awaiting approval", lines: 1}
	team.shows(t, "while it waits", "ruda", asked.TaskID, waiting)
	refused := uses(t, team.client, "ruda", "task_approve", map[string]any{"task_id": asked.TaskID})
	if refused.Success || refused.Code != task.CodeNotAllowed {
		t.Errorf("ruda approves it: %+v", refused)
	}
	if early := uses(t, team.client, "ruda", "task_complete", map[string]any{"task_id": asked.TaskID}); early.Success || early.Code != task.CodeState {
		t.Errorf("ruda completes it: %+v", early)
	}
	team.again(t)
	team.shows(t, "without approval", "ruda", asked.TaskID, waiting)
	approved := uses(t, team.client, "eden", "task_approve", map[string]any{"task_id": asked.TaskID})
	if !approved.Success || approved.Status != coordination.StateInProgress || approved.AgentID != "ruda" || approved.ApprovedBy != "eden" ||
		approved.WorkSessionID != asked.WorkSessionID || approved.Version != 2 {
		t.Errorf("eden approves it: %+v", approved)
	}
	team.shows(t, "when eden has approved it", "ruda", asked.TaskID, boardOf{status: "in_progress", session: "ACTIVE", steps: "0/1/2/0",
		last: "Task approved by eden", lines: 2})
	var lines []string
	for _, f := range team.taskFacts(t) {
		lines = append(lines, f.line())
	}
	want := []string{"task.started ruda: Task created - awaiting approval", "task.approved ruda by eden: Task approved by eden"}
	if !slices.Equal(lines, want) {
		t.Errorf("the log has %q", lines)
	}
}

// An approval, and the notice of it to agents, does not name the session: its name comes from its task.
func TestApprovalIsNoSummary(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, nil)
	asked := uses(t, team.client, "eden", "task_start", map[string]any{"description": "결제 흐름을 고친다", "requires_approval": true})
	if approved := uses(t, team.client, "ruda", "task_approve", map[string]any{"task_id": asked.TaskID}); !approved.Success {
		t.Fatalf("ruda approves it: %+v", approved)
	}
	team.awaits(t, "the end of the run in which eden is told", func(f *fact) bool {
		return strings.HasPrefix(f.RunID, "task:"+asked.TaskID) && (f.Type == coordination.TypeRunEnded || f.Type == coordination.TypeRunFailed)
	})
	s := team.session(t)
	if s.Title != "결제 흐름을 고친다" || s.Summary != s.Title || s.LastMessage != nil {
		t.Errorf("title %q, summary %q, last message %+v", s.Title, s.Summary, s.LastMessage)
	}
	counted := 0
	for _, n := range s.RoleCounts {
		counted += n
	}
	if counted != s.EventCount || counted == 0 {
		t.Errorf("roles are counted %v of %d events", s.RoleCounts, s.EventCount)
	}
}
