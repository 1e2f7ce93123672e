package approvals_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/approval"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/services/approvals"
)

// People change tasks under their own name; agents' names and unknown tasks are refused, in words for people.
func TestPeopleChangeTasks(t *testing.T) {
	t.Parallel()
	m := setup(t)
	_, id := m.plan()
	waits := m.task()
	ctx := t.Context()
	done, err := m.PrioritiseTask(ctx, " "+id, " 지민 ", "urgent")
	if diff := cmp.Diff(approval.Operated{ID: id, AgentID: "eden", Status: "in_progress", Priority: "urgent", By: "지민", Changed: true}, done); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if again, err := m.PrioritiseTask(ctx, id, "", "urgent"); err != nil || again.Changed || again.By != approvals.DefaultPerson {
		t.Errorf("again: %+v, %v", again, err)
	}
	for name, c := range map[string]struct {
		change      func() (approval.Operated, error)
		code, field string
		unknown     bool
	}{
		"an agent":         {func() (approval.Operated, error) { return m.CancelTask(ctx, id, "Eden", "") }, approvals.CodeInvalid, "by", false},
		"no id":            {func() (approval.Operated, error) { return m.CancelTask(ctx, " ", "지민", "") }, approvals.CodeInvalid, "id", false},
		"an unknown task":  {func() (approval.Operated, error) { return m.UnblockTask(ctx, "task_none", "지민", "") }, task.CodeUnknown, "id", true},
		"not blocked":      {func() (approval.Operated, error) { return m.UnblockTask(ctx, waits, "지민", "") }, task.CodeState, "id", false},
		"waits":            {func() (approval.Operated, error) { return m.ReassignTask(ctx, waits, "지민", "ruda") }, task.CodeState, "id", false},
		"an unknown agent": {func() (approval.Operated, error) { return m.ReassignTask(ctx, id, "지민", "mars") }, task.CodeUnknownAgent, "to", false},
		"without a reason": {func() (approval.Operated, error) { return m.CancelTask(ctx, waits, "지민", " ") }, task.CodeInvalid, "reason", false},
		"no such priority": {func() (approval.Operated, error) { return m.PrioritiseTask(ctx, id, "지민", "huge") }, task.CodeInvalid, "priority", false},
	} {
		done, err := c.change()
		r, is := errors.AsType[*approval.Refusal](err)
		if !is || r.Code() != c.code || r.Field != c.field || r.Details.Unknown != c.unknown || r.HintText == "" || strings.Contains(r.HintText, "task_") || done != (approval.Operated{}) {
			t.Errorf("%s: %+v, %#v", name, done, err)
		}
	}
	moved, err := m.ReassignTask(ctx, id, "지민", "Ruda")
	if err != nil || moved.Status != "cancelled" || moved.NewTaskID == "" {
		t.Errorf("reassigned: %+v, %v", moved, err)
	}
	if ended, err := m.CancelTask(ctx, waits, "지민", "크다"); err != nil || ended.Status != "cancelled" || !ended.Changed {
		t.Errorf("cancelled: %+v, %v", ended, err)
	}
}
