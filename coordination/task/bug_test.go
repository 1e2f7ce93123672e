package task_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

func TestBug20_WhatWaitsForApprovalIsNotTakenAway(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		for action, to := range map[string]string{coordination.ZombieMovedToBacklog: coordination.StateBacklog, coordination.ZombieEscalated: coordination.StateInterrupted} {
			s := in(t, state)
			means := s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: action})
			want := state
			if state == coordination.StateInProgress || state == coordination.StateInterrupted && to == coordination.StateBacklog {
				want = to
			}
			if s.task.Status != want || means != (want != state) {
				t.Errorf("%s of %s: %s", action, state, s.task.Status)
			}
			if s.task.Status == coordination.StateBacklog && s.task.Outcome != (task.Outcome{}) {
				t.Errorf("%s of %s: %+v", action, state, s.task.Outcome)
			}
		}
	}
}

func TestBug21_TheCountOfReassignmentsSurvives(t *testing.T) {
	t.Parallel()
	s := started(t)
	for range 2 {
		s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: coordination.ZombieMovedToBacklog})
		s.happen(coordination.TypeBacklogAutoPicked, coordination.TaskState{Progress: "Picked up automatically"})
	}
	s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: coordination.ZombieEscalated, AgeHours: 30.2, Progress: "p"})
	if s.task.Backlog.Reassigned != 3 || s.task.Status != "interrupted" || s.task.EndedAt != 0 || s.task.Progress != "p" ||
		s.task.Outcome != (task.Outcome{Kind: "interrupted", Reason: "nobody worked at it for 30 h"}) {
		t.Errorf("%+v", s.task)
	}
	s.take(task.Resume(&s.task, s.by("eden"), ""))
	if s.task.Status != "in_progress" || s.task.Outcome != (task.Outcome{}) || s.task.Backlog.Reassigned != 3 {
		t.Errorf("%+v", s.task)
	}
}

func TestBug23_OnlyWhatIsCompletedIsMet(t *testing.T) {
	t.Parallel()
	for state, met := range map[string]bool{
		"completed": true, "cancelled": false, "abandoned": false, "in_progress": false, "backlog": false, "blocked": false, "failed": false, "": false,
	} {
		s := newStream(t)
		b := s.backlog()
		b.DependsOn = []string{"task_a", "task_b"}
		s.take(task.AddBacklog(b))
		known := map[string]string{"task_a": "completed"}
		if state != "" {
			known["task_b"] = state
		}
		events, err := task.Pick(&s.task, task.PickAsk{Asked: s.by("eden"), States: known})
		why := task.Pickable(&s.task, known, s.now)
		if met != (err == nil) || met != (why == "") {
			t.Errorf("%q: %v, %q", state, err, why)
		}
		if met {
			continue
		}
		want := "task_b is " + state
		if state == "" {
			want = "task_b is unknown"
		}
		if r := refused(t, events, err); r.Reason != task.CodeDependency || !strings.Contains(r.Text, want) || strings.Contains(r.Text, "task_a") || r.Text != why {
			t.Errorf("%+v", r)
		}
	}
}

func TestBug25_NoAgentApprovesItsOwnTask(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask  task.ApproveAsk
		code string
	}{
		"its owner":             {task.ApproveAsk{Asked: task.Asked{By: "eden"}}, task.CodeNotAllowed},
		"its owner, a lead":     {task.ApproveAsk{Asked: task.Asked{By: "eden"}, Lead: true, Leads: true}, task.CodeNotAllowed},
		"who put it there":      {task.ApproveAsk{Asked: task.Asked{By: "miri"}}, task.CodeNotAllowed},
		"another agent":         {task.ApproveAsk{Asked: task.Asked{By: "ruda"}}, ""},
		"another, with leads":   {task.ApproveAsk{Asked: task.Asked{By: "ruda"}, Leads: true}, task.CodeNotAllowed},
		"a lead":                {task.ApproveAsk{Asked: task.Asked{By: "ruda"}, Lead: true, Leads: true}, ""},
		"a person":              {task.ApproveAsk{Asked: task.Asked{By: "eden", Human: true}, Leads: true}, ""},
		"a person with no name": {task.ApproveAsk{Asked: task.Asked{By: " ", Human: true}}, task.CodeInvalid},
		"a person of two lines": {task.ApproveAsk{Asked: task.Asked{By: "지\n민", Human: true}}, task.CodeInvalid},
	} {
		for decision, decide := range map[string]func(*task.Task) ([]task.Event, error){
			"approve": func(t *task.Task) ([]task.Event, error) { return task.Approve(t, tt.ask) },
			"reject":  func(t *task.Task) ([]task.Event, error) { return task.Reject(t, tt.ask, "r") },
		} {
			s := in(t, coordination.StatePendingApproval)
			s.task.CreatedBy = "miri"
			events, err := decide(&s.task)
			if got := code(err); got != tt.code {
				t.Errorf("%s, %s: %v, want code %q", name, decision, err, tt.code)
			}
			if tt.code == "" && events[0].Data.(coordination.TaskState).DecidedBy != tt.ask.By {
				t.Errorf("%s, %s: %+v", name, decision, events)
			}
		}
	}
}

func TestBug26_CompletingAStepBeginsNoSecondOne(t *testing.T) {
	t.Parallel()
	s := started(t, "a", "b", "c")
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "start_step", StepID: "s2"}))
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "complete_step", StepID: "s1"}))
	if got := shape(s.task.Steps); got != "s1 done, s2 in_progress, s3 pending" {
		t.Error(got)
	}
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "complete_step", StepID: "s2"}))
	if got := shape(s.task.Steps); got != "s1 done, s2 done, s3 in_progress" {
		t.Error(got)
	}
}

func TestBug30_WhatIsInterruptedHasAWayOut(t *testing.T) {
	t.Parallel()
	gone := in(t, coordination.StateInterrupted)
	gone.take(task.Resume(&gone.task, gone.by(gone.task.Agent), ""))
	if gone.task.Status != coordination.StateInProgress || gone.task.Outcome != (task.Outcome{}) {
		t.Errorf("resumed: %+v", gone.task)
	}
	over := in(t, coordination.StateInterrupted)
	over.take(task.Cancel(&over.task, over.by(over.task.Agent), "no longer wanted"))
	if over.task.Status != coordination.StateCancelled || over.task.EndedAt == 0 {
		t.Errorf("cancelled: %+v", over.task)
	}
	if !task.Terminal(coordination.StateAbandoned) { // a file that says so is not among the open ones
		t.Error("an abandoned task is open")
	}
}
