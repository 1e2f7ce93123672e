package task_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

var states = []string{coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress, coordination.StateBlocked,
	coordination.StateBacklog, coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned, coordination.StateInterrupted,
	coordination.StateFailed}

// decisions are all changes of an existing task, each with a permitted requester, the resulting state, and the states that allow it.
var decisions = map[string]struct {
	decide func(s *stream) ([]task.Event, error)
	to     string // "" is the same
	from   []string
}{
	"update": {func(s *stream) ([]task.Event, error) {
		return task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Progress: "p"})
	}, "", []string{coordination.StateInProgress, coordination.StateBlocked}},
	"complete": {func(s *stream) ([]task.Event, error) {
		return task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")})
	}, coordination.StateCompleted, []string{coordination.StateInProgress}},
	"cancel": {func(s *stream) ([]task.Event, error) { return task.Cancel(&s.task, s.by("eden"), "중복") }, coordination.StateCancelled,
		[]string{coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress, coordination.StateBlocked,
			coordination.StateBacklog, coordination.StateInterrupted}},
	"approve": {func(s *stream) ([]task.Event, error) {
		return task.Approve(&s.task, task.ApproveAsk{Asked: s.by("ruda")})
	}, coordination.StateInProgress, []string{coordination.StatePendingApproval}},
	"reject": {func(s *stream) ([]task.Event, error) {
		return task.Reject(&s.task, task.ApproveAsk{Asked: s.by("ruda")}, "너무 크다")
	}, coordination.StateCancelled, []string{coordination.StatePendingApproval}},
	"block": {func(s *stream) ([]task.Event, error) { return task.Block(&s.task, s.block("seum")) }, coordination.StateBlocked,
		[]string{coordination.StateInProgress}},
	"resume": {func(s *stream) ([]task.Event, error) { return task.Resume(&s.task, s.by("eden"), "") }, coordination.StateInProgress,
		[]string{coordination.StateBlocked, coordination.StateInterrupted}},
	"pick": {func(s *stream) ([]task.Event, error) { return task.Pick(&s.task, task.PickAsk{Asked: s.by("eden")}) }, coordination.StateInProgress,
		[]string{coordination.StateBacklog, coordination.StatePending}},
}

func TestEveryDecisionInEveryState(t *testing.T) {
	t.Parallel()
	for name, d := range decisions {
		for _, state := range states {
			t.Run(name+" "+state, func(t *testing.T) {
				t.Parallel()
				s := in(t, state)
				before := s.task
				events, err := d.decide(s)
				if !slices.Contains(d.from, state) {
					if r := refused(t, events, err); r.Reason != task.CodeState {
						t.Errorf("%+v", r)
					}
					return
				}
				s.take(events, err)
				want := d.to
				if want == "" {
					want = state
				}
				if s.task.Status != want || s.task.Terminal() != (s.task.EndedAt > 0) || s.task.ProgressCount != before.ProgressCount+1 {
					t.Errorf("%+v", s.task)
				}
			})
		}
	}
}

// What is asked by whom it does not concern is unknown; who expects another version is told which there is.
func TestStrangersAndOtherVersions(t *testing.T) {
	t.Parallel()
	for name, d := range decisions {
		s := in(t, d.from[0])
		if s.task.Version = 7; name != "approve" && name != "reject" {
			stranger := s.task
			stranger.Agent = "seum" // so that eden is one
			own := s.task
			s.task = stranger
			if events, err := d.decide(s); refused(t, events, err).Reason != task.CodeUnknown {
				t.Errorf("%s by a stranger: %v", name, err)
			}
			s.task = own
		}
		for _, version := range []int64{1, 6, 8} {
			if events, err := expecting(s, name, version); refused(t, events, err).Reason != task.CodeConflict {
				t.Errorf("%s at version %d: %v", name, version, err)
			}
		}
		if _, err := expecting(s, name, 7); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func expecting(s *stream, name string, version int64) ([]task.Event, error) {
	a := s.by("eden")
	a.Expect = &version
	switch name {
	case "update":
		return task.Update(&s.task, task.UpdateAsk{Asked: a, Progress: "p"})
	case "complete":
		return task.Complete(&s.task, task.CompleteAsk{Asked: a})
	case "cancel":
		return task.Cancel(&s.task, a, "")
	case "approve":
		a.By = "ruda"
		return task.Approve(&s.task, task.ApproveAsk{Asked: a})
	case "reject":
		a.By = "ruda"
		return task.Reject(&s.task, task.ApproveAsk{Asked: a}, "r")
	case "block":
		b := s.block("ruda")
		b.Asked = a
		return task.Block(&s.task, b)
	case "resume":
		return task.Resume(&s.task, a, "")
	}
	return task.Pick(&s.task, task.PickAsk{Asked: a})
}

// Every event says which task and work session it belongs to, its role and, where it has one, who decided it.
func TestEventsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for name, d := range decisions {
		s := in(t, d.from[0])
		for _, e := range s.take(d.decide(s)) {
			var c coordination.Context
			text, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			if c.TaskID != "task_1" || c.WorkSessionID != "ws_1" || c.PreviousWorkSessionID != "" || c.EventRole != coordination.RoleOrchestration || e.AgentID != "eden" {
				t.Errorf("%s: %s %s", name, e.AgentID, text)
			}
		}
	}
}

// What is done with a task that a file knew without a work session, or with what is delegated for it, has it join one.
func TestATaskWithoutAWorkSessionJoinsOne(t *testing.T) {
	t.Parallel()
	joined := func(name string, s *stream, events []task.Event) {
		t.Helper()
		for _, e := range events {
			text, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			var c coordination.Context
			if err := json.Unmarshal(text, &c); err != nil || c.WorkSessionID != "ws_new" || c.PreviousWorkSessionID != "" {
				t.Errorf("%s: %s %s, %v", name, e.Type, text, err)
			}
		}
		if s.task.WorkSessionID != "ws_new" || s.task.PreviousWorkSessionID != "" {
			t.Errorf("%s: %+v", name, s.task)
		}
	}
	for name, d := range decisions {
		s := in(t, d.from[0])
		s.task.WorkSessionID = ""
		joined(name, s, s.take(d.decide(s)))
	}
	s := started(t, "a")
	s.task.WorkSessionID = ""
	events, err := task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")})
	refused(t, events, err)
	joined("stop guard", s, s.take(events, nil))
	s, d := delegation(t, "completed")
	s.task.WorkSessionID = ""
	joined("reject", s, s.take(task.Verify(&s.task, d, task.VerifyAsk{Asked: s.by("eden"), Action: "reject"})))
	s.task.WorkSessionID = ""
	joined("retry", s, s.take(task.Delegate(&s.task, task.DelegateAsk{Asked: s.by("eden"), Delegation: *d, Retry: true})))
}

func TestAnArchivedWorkSessionIsRenewed(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*stream{
		"approve": in(t, coordination.StatePendingApproval), "resume": in(t, coordination.StateBlocked), "pick": in(t, coordination.StateBacklog),
	} {
		switch name {
		case "approve":
			s.take(task.Approve(&s.task, task.ApproveAsk{Asked: s.by("ruda"), Renewed: "ws_2"}))
		case "resume":
			s.take(task.Resume(&s.task, s.by("eden"), "ws_2"))
		case "pick":
			s.take(task.Pick(&s.task, task.PickAsk{Asked: s.by("eden"), Renewed: "ws_2"}))
		}
		if s.task.WorkSessionID != "ws_2" || s.task.PreviousWorkSessionID != "ws_1" {
			t.Errorf("%s: %+v", name, s.task)
		}
		s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Progress: "p"}))
		if s.task.WorkSessionID != "ws_2" || s.task.PreviousWorkSessionID != "ws_1" {
			t.Errorf("%s: after an update %+v", name, s.task)
		}
	}
}

func TestWhatATaskIsMadeOf(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	a := s.start("a", "b")
	a.Background, a.Simple, a.Description = "문맥", true, "\n 첫 줄 \n둘째"
	data := s.take(task.Start(a))[0].Data.(coordination.TaskStarted)
	if data.Title != "첫 줄" {
		t.Errorf("title %q", data.Title)
	}
	want := task.Task{
		ID: "task_1", Agent: "eden", Version: 1, Seq: 100, Last: 100, Status: "in_progress", Priority: "high", Description: "\n 첫 줄 \n둘째", Background: "문맥",
		Source: "self", Simple: true, SessionKey: "agent:eden:main", WorkSessionID: "ws_1", CreatedAt: s.now, ActiveAt: s.now, Focus: 100,
		Steps:         []coordination.TaskStep{{ID: "s1", Content: "a", Status: "in_progress", Order: 1}, {ID: "s2", Content: "b", Status: "pending", Order: 2}},
		ProgressCount: 1, Progress: "Task started",
	}
	same(t, s.task, want)

	s = newStream(t)
	b := s.backlog()
	b.Asked = s.by("ruda")
	b.Assignee, b.Effort, b.StartDate, b.DueDate, b.DependsOn = "Eden", "small", "2026-02-21", "2026-02-28T09:00:00+09:00", []string{"task_a", " task_b", "task_a", ""}
	b.MilestoneID, b.MilestoneItemID, b.Priority, b.Background = "m1", "i1", "nonsense", "문맥"
	b.Known = []string{"eden", "ruda"}
	events := s.take(task.AddBacklog(b))
	if events[0].AgentID != "ruda" || !events[0].Data.(coordination.TaskBacklogAdded).IsCrossAgent {
		t.Errorf("%+v", events)
	}
	want = task.Task{
		ID: "task_1", Agent: "eden", Version: 1, Seq: 100, Last: 100, Status: "backlog", Priority: "medium", Description: "백로그", Background: "문맥", CreatedBy: "ruda",
		WorkSessionID: "ws_1", CreatedAt: s.now, ActiveAt: s.now, ProgressCount: 1, Progress: "Added to backlog by ruda",
		Backlog: task.Backlog{Assignee: "eden", DependsOn: []string{"task_a", "task_b"}, Effort: "small", StartDate: "2026-02-21", DueDate: "2026-02-28T09:00:00+09:00",
			MilestoneID: "m1", MilestoneItemID: "i1"},
	}
	same(t, s.task, want)
	pick := task.PickAsk{Asked: s.by("eden"), States: map[string]string{"task_a": "completed", "task_b": "completed"}}
	pick.Now, pick.SessionKey = s.now+100*day, "agent:eden:discord"
	s.take(task.Pick(&s.task, pick))
	if s.task.SessionKey != "agent:eden:discord" || s.task.Focus != 200 || s.task.Backlog.MilestoneID != "m1" || s.task.Progress != "Picked from backlog" {
		t.Errorf("%+v", s.task)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := started(t)
	s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Summary: "요약", Unverified: []task.Delegation{{ID: "d1"}, {ID: "d2"}}}))
	var data coordination.TaskState
	if err := json.Unmarshal(s.stored[1].data, &data); err != nil || !slices.Equal(data.Unverified, []string{"d1", "d2"}) {
		t.Errorf("%s, %v", s.stored[1].data, err)
	}
	if s.task.Outcome != (task.Outcome{Kind: "completed", Summary: "요약"}) || s.task.EndedAt != s.now || s.task.Progress != "Task completed" {
		t.Errorf("%+v", s.task)
	}
	s = in(t, coordination.StateBlocked)
	s.take(task.Cancel(&s.task, s.by("eden"), "중복"))
	if s.task.Outcome != (task.Outcome{Kind: "cancelled", Reason: "중복", By: "eden"}) || s.task.Progress != "Task cancelled: 중복" {
		t.Errorf("%+v", s.task)
	}
	s = started(t)
	s.take(task.Cancel(&s.task, task.Asked{By: "지민", Human: true}, " "))
	if s.task.Outcome.By != "지민" || s.task.Progress != "Task cancelled" {
		t.Errorf("%+v", s.task)
	}
	s = in(t, coordination.StatePendingApproval)
	s.take(task.Reject(&s.task, task.ApproveAsk{Asked: s.by("ruda")}, "너무 크다"))
	if s.task.Outcome != (task.Outcome{Kind: "cancelled", Reason: "너무 크다", By: "ruda"}) || s.task.EndedAt != s.now ||
		s.task.Progress != "Task rejected by ruda: 너무 크다" {
		t.Errorf("%+v", s.task)
	}
}

// Of its agent's tasks that is in focus to which it has turned last.
func TestFocusMovesWithWhatTheAgentTurnsTo(t *testing.T) {
	t.Parallel()
	s := in(t, coordination.StatePendingApproval)
	focus := func(want int64, why string) {
		t.Helper()
		if s.task.Focus != want {
			t.Errorf("%s: focus %d, want %d", why, s.task.Focus, want)
		}
	}
	focus(0, "asked for")
	s.take(task.Approve(&s.task, task.ApproveAsk{Asked: s.by("ruda")}))
	focus(200, "approved")
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Progress: "p"}))
	focus(300, "updated")
	s.take(task.Block(&s.task, s.block("ruda")))
	focus(300, "blocked")
	s.take(task.Resume(&s.task, s.by("ruda"), ""))
	focus(500, "resumed")
	s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: coordination.ZombieMovedToBacklog})
	focus(500, "taken away")
	s.happen(coordination.TypeBacklogAutoPicked, coordination.TaskState{})
	focus(700, "picked for it")
}
