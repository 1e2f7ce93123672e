package plan_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
)

// A pending plan of any agent lapses once its task is over; any other plan is unchanged.
func TestAPlanLapsesWithItsTask(t *testing.T) {
	t.Parallel()
	over := plan.Task{ID: "task_1", Agent: "eden", WorkSessionID: "ws_2", Over: true}
	with := func(change func(*plan.Task)) plan.Task {
		of := over
		change(&of)
		return of
	}
	for name, tt := range map[string]struct {
		status string
		task   plan.Task
		want   bool
	}{
		"its task is over":   {plan.Pending, over, true},
		"its task goes on":   {plan.Pending, with(func(of *plan.Task) { of.Over = false }), false},
		"another one is":     {plan.Pending, with(func(of *plan.Task) { of.ID = "task_2" }), false},
		"it was approved":    {plan.Approved, over, false},
		"it was rejected":    {plan.Rejected, over, false},
		"there is none":      {"", over, false},
		"there is no task":   {plan.Pending, with(func(of *plan.Task) { of.ID = "" }), false},
		"in no work session": {plan.Pending, with(func(of *plan.Task) { of.WorkSessionID = "" }), true},
	} {
		s := in(t, tt.status)
		before := s.plan
		e, lapses := plan.Lapse(&s.plan, tt.task)
		same(t, s.plan, before)
		if lapses != tt.want || !lapses && e.Type != "" {
			t.Errorf("%s: %v %+v", name, lapses, e)
		}
	}
	forNone := in(t, plan.Pending)
	forNone.plan.TaskID = ""
	if e, lapses := plan.Lapse(&forNone.plan, plan.Task{Over: true}); lapses {
		t.Errorf("one for no task lapses: %+v", e)
	}
}

// What lapses is rejected by the program, in the work session in which the task has ended.
func TestWhatALapseSays(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]string{"ws_2": "ws_2", "": "ws_1"} {
		s := in(t, plan.Pending)
		e, _ := plan.Lapse(&s.plan, plan.Task{ID: "task_1", Agent: "eden", WorkSessionID: session, Over: true})
		same(t, e, plan.Event{Type: coordination.TypePlanRejected, AgentID: "eden", Data: coordination.Plan{
			Context: coordination.Context{TaskID: "task_1", WorkSessionID: want, EventRole: coordination.RoleOrchestration},
			PlanID:  planID, AgentID: "eden", Title: "로그인 기능", StepsCount: 2, DecidedBy: "openclawd", Reason: "its task is over"}})
		s.take(e, nil)
		if s.plan.Status != plan.Rejected || s.plan.DecidedBy != "openclawd" || s.plan.Reason != "its task is over" {
			t.Errorf("folded: %+v", s.plan)
		}
		refused(t, plan.Event{}, second(plan.Approve(&s.plan, lead())))
	}
}
