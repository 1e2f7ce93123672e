package task_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

// person asks as a person does.
func (s *stream) person() task.Asked {
	return task.Asked{By: "지민", Human: true, Now: s.now, NewWorkSession: "ws_new"}
}

var everyState = []string{coordination.StateBacklog, coordination.StatePending, coordination.StatePendingApproval, coordination.StateInProgress,
	coordination.StateBlocked, coordination.StateInterrupted, coordination.StateCompleted, coordination.StateCancelled, coordination.StateAbandoned,
	coordination.StateFailed}

// What people may do to a task in each state, and what that leads to: a state, "=" for no change, or the code of a refusal.
func TestPeopleChangeTasks(t *testing.T) {
	t.Parallel()
	type change func(s *stream) ([]task.Event, error)
	changes := map[string]change{
		"cancel": func(s *stream) ([]task.Event, error) { return task.Stop(&s.task, s.person(), "중복") },
		"unblock": func(s *stream) ([]task.Event, error) {
			return task.Unblock(&s.task, s.person(), "", "키를 넣었다")
		},
		"prioritise": func(s *stream) ([]task.Event, error) { return task.Prioritise(&s.task, s.person(), "urgent") },
		"reassign": func(s *stream) ([]task.Event, error) {
			ended, created, err := task.Reassign(&s.task, s.reassign("ruda"))
			if (len(ended) > 0) != (len(created) > 0) {
				s.tb.Fatalf("ends with %v and begins with %v", ended, created)
			}
			return ended, err
		},
	}
	over := map[string]bool{coordination.StateCompleted: true, coordination.StateAbandoned: true, coordination.StateFailed: true}
	for name, does := range changes {
		for _, state := range everyState {
			want := ""
			switch {
			case over[state]:
				want = task.CodeState
			case state == coordination.StateCancelled:
				want = task.CodeState
				if name == "cancel" {
					want = "="
				}
			case name == "cancel", name == "reassign":
				want = coordination.StateCancelled
				if name == "reassign" && state == coordination.StatePendingApproval {
					want = task.CodeState
				}
			case name == "prioritise":
				want = state
			case state == coordination.StateInProgress:
				want = "="
			case state == coordination.StateBlocked, state == coordination.StateInterrupted:
				want = coordination.StateInProgress
			default:
				want = task.CodeState
			}
			s := in(t, state)
			focus, lines := s.task.Focus, s.task.ProgressCount
			events, err := does(s)
			got := "="
			switch {
			case err != nil:
				got = refused(t, nil, err).Reason
			case len(events) > 0:
				s.take(events, nil)
				got = s.task.Status
				if text, err := json.Marshal(events[0].Data); err != nil || !strings.Contains(string(text), `"decidedBy":"지민"`) {
					t.Errorf("%s of a task that is %s: %s does not say who: %v", name, state, text, err)
				}
			}
			if got != want {
				t.Errorf("%s of a task that is %s: %q, want %q", name, state, got, want)
			}
			if name == "prioritise" && got == want && want == state && (s.task.Priority != "urgent" || s.task.Focus != focus || s.task.ProgressCount != lines) {
				t.Errorf("%s: priority %q, focus %d, then %d, %d lines of progress, then %d", state, s.task.Priority, focus, s.task.Focus, lines, s.task.ProgressCount)
			}
		}
	}
}

func (s *stream) reassign(to string) task.ReassignAsk {
	return task.ReassignAsk{Asked: s.person(), To: to, Known: []string{"eden", "ruda"}, NewID: "task_2"}
}

// What an operator asks for is checked, and what is so already needs nothing.
func TestChangesByPeopleThatAreRefused(t *testing.T) {
	t.Parallel()
	reassigns := func(s *stream, change func(*task.ReassignAsk)) error {
		a := s.reassign("ruda")
		change(&a)
		_, _, err := task.Reassign(&s.task, a)
		return err
	}
	old := int64(7)
	for name, c := range map[string]struct {
		err         func(s *stream) error
		code, field string
	}{
		"no such priority": {func(s *stream) error { _, err := task.Prioritise(&s.task, s.person(), "huge"); return err }, task.CodeInvalid, "priority"},
		"another version": {func(s *stream) error {
			a := s.person()
			a.Expect = &old
			_, err := task.Prioritise(&s.task, a, "low")
			return err
		}, task.CodeConflict, "version"},
		"not its agent":    {func(s *stream) error { _, err := task.Prioritise(&s.task, s.by("ruda"), "low"); return err }, task.CodeUnknown, "task_id"},
		"no agent":         {func(s *stream) error { return reassigns(s, func(a *task.ReassignAsk) { a.To = " " }) }, task.CodeInvalid, "to"},
		"an unknown agent": {func(s *stream) error { return reassigns(s, func(a *task.ReassignAsk) { a.To = "mars" }) }, task.CodeUnknownAgent, "to"},
		"others wait": {func(s *stream) error {
			return reassigns(s, func(a *task.ReassignAsk) { a.Waiting = []string{"task_3"} })
		}, task.CodeDependency, "task_id"},
		"a full backlog": {func(s *stream) error { return reassigns(s, func(a *task.ReassignAsk) { a.OpenOfTo = task.MaxOpen }) }, task.CodeFull, ""},
		"a note of a novel": {func(s *stream) error {
			_, err := task.Unblock(&in(t, "blocked").task, s.person(), "", strings.Repeat("x", task.MaxText+1))
			return err
		}, task.CodeInvalid, "reason"},
		"rejected silently": {func(s *stream) error {
			_, err := task.Stop(&in(t, "pending_approval").task, s.person(), " ")
			return err
		}, task.CodeInvalid, "reason"},
	} {
		s := started(t, "하나")
		if r := refused(t, nil, c.err(s)); r.Reason != c.code || r.Field != c.field {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s := started(t)
	if events, err := task.Prioritise(&s.task, s.person(), " high "); len(events) > 0 || err != nil {
		t.Errorf("the priority it has: %v, %v", events, err)
	}
	if ended, created, err := task.Reassign(&s.task, s.reassign("EDEN")); len(ended)+len(created) > 0 || err != nil {
		t.Errorf("to its own agent: %v, %v, %v", ended, created, err)
	}
}

// The next owner gets what is left to do, and where it came from.
func TestReassignHandsOver(t *testing.T) {
	t.Parallel()
	s := started(t, "끝낸 단계", "남은 단계")
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "complete_step", StepID: "s1"}))
	s.take(task.Block(&s.task, s.block("ruda")))
	ended, created, err := task.Reassign(&s.task, s.reassign("Ruda"))
	if err != nil {
		t.Fatal(err)
	}
	data, is := created[0].Data.(coordination.TaskBacklogAdded)
	if !is || data.Assignee != "ruda" || data.TaskID != "task_2" || data.Priority != "high" || data.WorkSessionID != "ws_1" || data.Description != "로그인 기능" || data.CreatedBy != "지민" {
		t.Errorf("begins with %+v", created[0])
	}
	for _, want := range []string{"task_1 of eden", "키 대기", "- 남은 단계"} {
		if !strings.Contains(data.Background, want) {
			t.Errorf("%q is not in %q", want, data.Background)
		}
	}
	if strings.Contains(data.Background, "끝낸 단계\n") {
		t.Errorf("what is done is in %q", data.Background)
	}
	next := newStream(t)
	next.take(created, nil)
	if next.task.Agent != "ruda" || next.task.Status != coordination.StateBacklog {
		t.Errorf("of %s, %s", next.task.Agent, next.task.Status)
	}
	s.take(ended, nil)
	if s.task.Outcome.By != "지민" || !strings.Contains(s.task.Outcome.Reason, "task_2") {
		t.Errorf("ended: %+v", s.task.Outcome)
	}
	long := started(t)
	a := long.start()
	a.TaskID, a.Background = "task_1", strings.Repeat("가", task.MaxText/3)
	long = newStream(t)
	long.take(task.Start(a))
	if _, created, err = task.Reassign(&long.task, long.reassign("ruda")); err != nil || len(created) != 1 {
		t.Errorf("with a long background: %v", err)
	}
}

// A rejection is told from a cancellation.
func TestIsRejection(t *testing.T) {
	t.Parallel()
	s := in(t, coordination.StatePendingApproval)
	rejected, err := task.Stop(&s.task, s.person(), "작게")
	if err != nil {
		t.Fatal(err)
	}
	s = started(t)
	cancelled, err := task.Stop(&s.task, s.person(), "Task rejected by")
	if err != nil {
		t.Fatal(err)
	}
	of := func(events []task.Event) bool {
		d, is := events[0].Data.(coordination.TaskState)
		return is && task.IsRejection(d)
	}
	if !of(rejected) || of(cancelled) {
		t.Errorf("rejected %v, cancelled %v", of(rejected), of(cancelled))
	}
	if !slices.Equal(task.Priorities(), []string{"urgent", "high", "medium", "low"}) {
		t.Errorf("priorities are %q", task.Priorities())
	}
}
