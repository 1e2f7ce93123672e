package continuer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// A backlog task whose dependency was cancelled is reported once, to the lead, also over restarts, and stays in the backlog. If it is
// cancelled in turn, what depends on it is reported, too.
func TestATaskThatCanNeverBegin(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer, byHand)
	first := c.starts("seum", "buy tiles")
	vain := c.does("eden", "task_backlog_add", map[string]any{"description": "lay tiles", "depends_on": []string{first}})
	next := c.does("eden", "task_backlog_add", map[string]any{"description": "clean tiles", "depends_on": []string{vain}})
	c.Advance(time.Hour)
	c.does("seum", "task_cancel", map[string]any{"task_id": first, "reason": "no tiles"})
	c.rests("eden", continuation.NotYet, 3*time.Minute)
	c = c.crashed()
	c.after(3 * time.Minute)
	c = c.reopened()
	c.after(time.Hour)
	told := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, "")
	if len(told) != 1 || told[0].TaskID != vain || told[0].Reason != "dependency_gone" || told[0].Dependency != first || told[0].ToldAgentID != "main" || told[0].WorkSessionID == "" {
		t.Fatalf("told: %+v", told)
	}
	if heard := s.of("main"); len(heard) != 1 || !contains(heard[0], "[ESCALATION]", vain, first+", which is cancelled", "eden", "lay tiles") {
		t.Errorf("the lead has heard %q", heard)
	}
	if row := c.task(vain); row.Status != coordination.StateBacklog || len(s.of("eden")) != 0 {
		t.Errorf("the task is %s, and its agent has heard %q", row.Status, s.of("eden"))
	}
	c.does("eden", "task_cancel", map[string]any{"task_id": vain, "reason": "no tiles"})
	c.after(3 * time.Minute)
	if told := a2atest.Data[coordination.Unblock](c.Team, coordination.TypeUnblockFailed, ""); len(told) != 2 || told[1].TaskID != next || told[1].Dependency != vain {
		t.Errorf("what depends on what was cancelled in turn: %+v", told)
	}
	c.rests("eden", continuation.Told, 0)
	c.wantOneRunEach()
}

// The cancellation of another agent's task has the agents checked that wait for it, and a backlog of many that can never begin comes to
// rest.
func TestManyTasksThatCanNeverBegin(t *testing.T) {
	t.Parallel()
	s := says(nil)
	c := setup(t, s.answer)
	first := c.starts("seum", "buy tiles")
	for i := range 70 {
		c.does("eden", "task_backlog_add", map[string]any{"description": fmt.Sprint("lay tile ", i), "depends_on": []string{first}})
	}
	c.Advance(time.Hour)
	c.does("seum", "task_cancel", map[string]any{"task_id": first, "reason": "no tiles"})
	c.Advance(3 * time.Minute)
	c.wants("all to be reported", func() bool { return len(c.Events(coordination.TypeUnblockFailed)) == 70 })
	c.quiet()
	c.Advance(time.Hour)
	c.rests("eden", continuation.Told, 0)
}
