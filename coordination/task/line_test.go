package task_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// Each line of progress that a decision writes can be read again.
func TestLinesOfDecisionsAreRead(t *testing.T) {
	t.Parallel()
	asks := func(s *stream, by string) task.ApproveAsk {
		return task.ApproveAsk{Asked: task.Asked{By: by, Human: true, Now: s.now}}
	}
	updates := func(s *stream, a task.UpdateAsk) {
		a.Asked = s.by("eden")
		s.take(task.Update(&s.task, a))
	}
	for name, c := range map[string]struct {
		do   func() *stream
		want task.Line
	}{
		"started":  {func() *stream { return in(t, coordination.StateInProgress) }, task.Line{Code: task.LineStarted}},
		"awaiting": {func() *stream { return in(t, coordination.StatePendingApproval) }, task.Line{Code: task.LineAwaitsApproval}},
		"approved": {func() *stream {
			s := in(t, coordination.StatePendingApproval)
			s.take(task.Approve(&s.task, asks(s, "병욱")))
			return s
		}, task.Line{Code: task.LineApproved, By: "병욱"}},
		"rejected": {func() *stream {
			s := in(t, coordination.StatePendingApproval)
			s.take(task.Reject(&s.task, asks(s, "병욱"), "너무 크다: 나누기\n둘로"))
			return s
		}, task.Line{Code: task.LineRejected, By: "병욱", Reason: "너무 크다: 나누기\n둘로"}},
		"added":   {func() *stream { return in(t, coordination.StateBacklog) }, task.Line{Code: task.LineBacklogAdded}},
		"blocked": {func() *stream { return in(t, coordination.StateBlocked) }, task.Line{Code: task.LineBlocked, Reason: "키 대기"}},
		"resumed": {func() *stream {
			s := in(t, coordination.StateBlocked)
			s.take(task.Resume(&s.task, s.by("eden"), ""))
			return s
		}, task.Line{Code: task.LineResumed}},
		"unblocked": {func() *stream {
			s := in(t, coordination.StateBlocked)
			s.take(task.Unblock(&s.task, s.person(), "", "키를 넣었음"))
			return s
		}, task.Line{Code: task.LineResumed, By: "지민", Reason: "키를 넣었음"}},
		"cancelled": {func() *stream { return in(t, coordination.StateCancelled) }, task.Line{Code: task.LineCancelled}},
		"completed": {func() *stream { return in(t, coordination.StateCompleted) }, task.Line{Code: task.LineCompleted}},
		"refused": {func() *stream {
			s := started(t, "하나", "둘")
			events, _ := task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")})
			s.take(events, nil)
			return s
		}, task.Line{Code: task.LineStopGuard, Count: 2}},
		"defined": {func() *stream {
			s := started(t)
			updates(s, task.UpdateAsk{Action: "set_steps", Steps: []task.NewStep{{Content: "하나"}}})
			return s
		}, task.Line{Code: task.LineStepsDefined, Count: 1}},
		"a step more": {func() *stream {
			s := started(t, "하나")
			updates(s, task.UpdateAsk{Action: "add_step", StepContent: "둘"})
			return s
		}, task.Line{Code: task.LineStepAdded, Step: "둘"}},
		"a step done": {func() *stream {
			s := started(t, "하나")
			updates(s, task.UpdateAsk{Action: "complete_step", StepID: "s1"})
			return s
		}, task.Line{Code: task.LineStepCompleted, Step: "하나"}},
		"a step skipped": {func() *stream {
			s := started(t, "하나")
			updates(s, task.UpdateAsk{Action: "skip_step", StepID: "s1"})
			return s
		}, task.Line{Code: task.LineStepSkipped, Step: "하나"}},
		"a step started": {func() *stream {
			s := started(t, "하나", "둘")
			updates(s, task.UpdateAsk{Action: "start_step", StepID: "s2"})
			return s
		}, task.Line{Code: task.LineStepStarted, Step: "둘"}},
		"another order": {func() *stream {
			s := started(t, "하나", "둘")
			updates(s, task.UpdateAsk{Action: "reorder_steps", Order: []string{"s2"}})
			return s
		}, task.Line{Code: task.LineStepsReordered}},
		"an agent's words": {func() *stream {
			s := started(t)
			updates(s, task.UpdateAsk{Progress: "Task started well"})
			return s
		}, task.Line{}},
	} {
		text := c.do().task.Progress
		c.want.Text = text
		if diff := cmp.Diff(c.want, task.ReadLine(text)); diff != "" || text == "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for text, want := range map[string]task.Line{
		"[UNBLOCK] help was asked for once, and it was not unblocked":    {Code: task.LineUnblockInVain, Count: 1},
		"[UNBLOCK] help was asked for 3 times, and it was not unblocked": {Code: task.LineUnblockInVain, Count: 3},
		"[UNBLOCK] those who could help could not be reached":            {Code: task.LineNotReached},
		"[UNBLOCK] no agent may be asked for help":                       {Code: task.LineNoHelper},
		"Moved to backlog: no activity for 25 h":                         {Code: task.LineReturned, Hours: 25},
		"Interrupted: no activity for 26 h, for the 3rd time":            {Code: task.LineInterrupted, Hours: 26, Count: 3},
		"Added to backlog by 루다":                                         {Code: task.LineBacklogAdded, By: "루다"},
		"Picked from backlog":                                            {Code: task.LineBacklogPicked},
		"Task cancelled: 필요 없음":                                          {Code: task.LineCancelled, Reason: "필요 없음"},
		"Task completed: 배포함":                                            {Code: task.LineCompleted, Reason: "배포함"}, // of OpenClaw
		"[UNBLOCK] request 2 of 3 to seum":                               {Code: task.LineUnblockAsked, To: "seum", Count: 2},
		"[UNBLOCK] request to seum not delivered (1 of 3)":               {Code: task.LineUnblockFailed, To: "seum", Count: 1},
		"[s1] 구조 파악 완료":                                                  {},
		"[FORCE COMPLETE] Steps left: s2, s3":                            {Code: task.LineForced, Steps: []string{"s2", "s3"}},
		"Task cancelled: Reassigned by 병욱 to seum as task_9":             {Code: task.LineReassigned, By: "병욱", To: "seum", TaskID: "task_9"},
	} {
		want.Text = text
		if diff := cmp.Diff(want, task.ReadLine(text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}
