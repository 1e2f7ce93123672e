package task_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

func TestStepActions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps   string // as shape gives them
		ask     task.UpdateAsk
		want    string
		changed int // steps that the event carries
		line    string
	}{
		"set":              {"", task.UpdateAsk{Action: "set_steps", Steps: news("a", "b")}, "s1 in_progress, s2 pending", 2, "Steps defined: 2"},
		"set in the place": {"s1 done, s2 in_progress", task.UpdateAsk{Action: "set_steps", Steps: news("a")}, "s3 in_progress", 1, "Steps defined: 1"},
		"set with states": {"", task.UpdateAsk{Action: "set_steps", Steps: []task.NewStep{{"a", "done"}, {"b", "pending"}, {"c", "in_progress"}, {"d", "in_progress"}, {"e", "skipped"}}},
			"s1 done, s2 pending, s3 in_progress, s4 pending, s5 skipped", 5, "Steps defined: 5"},
		"set, all done": {"", task.UpdateAsk{Action: "set_steps", Steps: []task.NewStep{{"a", "done"}}}, "s1 done", 1, "Steps defined: 1"},
		"add the first": {"", task.UpdateAsk{Action: "add_step", StepContent: "new"}, "s1 pending", 1, "[s1] Added: new"},
		"add":           {"s1 done, s2 in_progress", task.UpdateAsk{Action: "add_step", StepContent: "new"}, "s1 done, s2 in_progress, s3 pending", 1, "[s3] Added: new"},
		"complete": {"s1 in_progress, s2 pending, s3 pending", task.UpdateAsk{Action: "complete_step", StepID: "s1"}, "s1 done, s2 in_progress, s3 pending", 2,
			"[s1] Completed: c1"},
		"complete the last":     {"s1 done, s2 in_progress", task.UpdateAsk{Action: "complete_step", StepID: "s2"}, "s1 done, s2 done", 1, "[s2] Completed: c2"},
		"complete a later one":  {"s1 pending, s2 in_progress", task.UpdateAsk{Action: "complete_step", StepID: "s2"}, "s1 in_progress, s2 done", 2, "[s2] Completed: c2"},
		"complete what is done": {"s1 done, s2 in_progress", task.UpdateAsk{Action: "complete_step", StepID: "s1"}, "s1 done, s2 in_progress", 0, "[s1] Completed: c1"},
		"start": {"s1 in_progress, s2 in_progress, s3 pending", task.UpdateAsk{Action: "start_step", StepID: "s3"},
			"s1 pending, s2 pending, s3 in_progress", 3, "[s3] Started: c3"},
		"start again": {"s1 done, s2 in_progress", task.UpdateAsk{Action: "start_step", StepID: "s1"}, "s1 in_progress, s2 pending", 2, "[s1] Started: c1"},
		"skip":        {"s1 in_progress, s2 pending", task.UpdateAsk{Action: "skip_step", StepID: "s1"}, "s1 skipped, s2 in_progress", 2, "[s1] Skipped: c1"},
		"skip beside one in progress": {"s1 in_progress, s2 pending, s3 pending", task.UpdateAsk{Action: "skip_step", StepID: "s2"},
			"s1 in_progress, s2 skipped, s3 pending", 1, "[s2] Skipped: c2"},
		"reorder": {"s1 done, s2 in_progress, s3 pending, s4 pending", task.UpdateAsk{Action: "reorder_steps", Order: []string{"s4", "s9", "s2", "s4"}},
			"s4 pending, s2 in_progress, s1 done, s3 pending", 3, "Steps reordered"},
		"reorder what is not there": {"s1 done, s2 pending", task.UpdateAsk{Action: "reorder_steps", Order: []string{"s9"}}, "s1 done, s2 pending", 0, "Steps reordered"},
		"the agent's own words": {"s1 in_progress", task.UpdateAsk{Action: "complete_step", StepID: "s1", Progress: "[s1] 구조 파악 완료"},
			"s1 done", 1, "[s1] 구조 파악 완료"},
		"ids that a file has repeated": {"s1 pending, s1 pending", task.UpdateAsk{Action: "complete_step", StepID: "s1"}, "s1 done, s1 in_progress", 2, "[s1] Completed: c1"},
		"a foreign id":                 {"first done, s7 pending", task.UpdateAsk{Action: "add_step", StepContent: "x"}, "first done, s7 pending, s8 pending", 1, "[s8] Added: x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withSteps(t, tt.steps)
			tt.ask.Asked = s.by("eden")
			events, err := task.Update(&s.task, tt.ask)
			if got := shape(s.task.Steps); got != tt.steps {
				t.Fatalf("the decision has changed the task: %s", got)
			}
			data := s.take(events, err)[0].Data.(coordination.TaskUpdated)
			if got := shape(s.task.Steps); got != tt.want || len(data.Steps) != tt.changed || s.task.Progress != tt.line || data.ProgressCount != s.task.ProgressCount {
				t.Errorf("%s, want %s; %d changed, %q", got, tt.want, len(data.Steps), s.task.Progress)
			}
			for i, step := range s.task.Steps {
				if i > 0 && step.Order <= s.task.Steps[i-1].Order {
					t.Errorf("order %+v", s.task.Steps)
				}
			}
		})
	}
}

func news(contents ...string) (list []task.NewStep) {
	for _, c := range contents {
		list = append(list, task.NewStep{Content: c})
	}
	return list
}

// withSteps is a task that has steps as shape gives them, with c1, c2, ... to do.
func withSteps(tb tester, steps string) *stream {
	s := started(tb)
	if steps == "" {
		return s
	}
	for i, step := range strings.Split(steps, ", ") {
		id, status, _ := strings.Cut(step, " ")
		s.task.Steps = append(s.task.Steps, coordination.TaskStep{ID: id, Content: "c" + strconv.Itoa(i+1), Status: status, Order: i + 1})
	}
	return s
}

func TestStepActionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask         task.UpdateAsk
		code, field string
	}{
		"nothing":              {task.UpdateAsk{Progress: " \n"}, task.CodeInvalid, "progress"},
		"an unknown action":    {task.UpdateAsk{Action: "finish_step", Progress: "p"}, task.CodeInvalid, "action"},
		"no steps":             {task.UpdateAsk{Action: "set_steps"}, task.CodeInvalid, "steps"},
		"a blank step":         {task.UpdateAsk{Action: "set_steps", Steps: news("a", " ")}, task.CodeInvalid, "steps.content"},
		"an unknown status":    {task.UpdateAsk{Action: "set_steps", Steps: []task.NewStep{{"a", "ready"}}}, task.CodeInvalid, "steps.status"},
		"nothing to add":       {task.UpdateAsk{Action: "add_step"}, task.CodeInvalid, "step_content"},
		"a step that is long":  {task.UpdateAsk{Action: "add_step", StepContent: strings.Repeat("x", task.MaxStepText+1)}, task.CodeInvalid, "step_content"},
		"no id":                {task.UpdateAsk{Action: "complete_step"}, task.CodeInvalid, "step_id"},
		"an id that is not":    {task.UpdateAsk{Action: "complete_step", StepID: "s9", Progress: "p"}, task.CodeUnknownStep, "step_id"},
		"start what is not":    {task.UpdateAsk{Action: "start_step", StepID: "s9"}, task.CodeUnknownStep, "step_id"},
		"skip what is not":     {task.UpdateAsk{Action: "skip_step", StepID: "s9"}, task.CodeUnknownStep, "step_id"},
		"no order":             {task.UpdateAsk{Action: "reorder_steps"}, task.CodeInvalid, "steps_order"},
		"too many steps":       {task.UpdateAsk{Action: "set_steps", Steps: make([]task.NewStep, task.MaxSteps)}, task.CodeFull, "steps"},
		"progress that's long": {task.UpdateAsk{Progress: strings.Repeat("x", task.MaxLine+1)}, task.CodeInvalid, "progress"},
		"NUL":                  {task.UpdateAsk{Progress: "a\x00b"}, task.CodeInvalid, "progress"},
		"no UTF-8":             {task.UpdateAsk{Progress: "a\xff"}, task.CodeInvalid, "progress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withSteps(t, "s1 in_progress, s2 pending")
			tt.ask.Asked = s.by("eden")
			events, err := task.Update(&s.task, tt.ask)
			if r := refused(t, events, err); r.Reason != tt.code || r.Field != tt.field {
				t.Errorf("%+v", r)
			}
		})
	}
	s := withSteps(t, "s1 in_progress")
	err := second(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "finish_step"}))
	if r := refused(t, nil, err); !strings.Contains(r.HintText, "set_steps, add_step, complete_step, start_step, skip_step, reorder_steps") {
		t.Errorf("%+v", r)
	}
}

func second(_ []task.Event, err error) error { return err }

// An id is never used again, and so the bound counts those that were replaced.
func TestIDsOfStepsAreNeverUsedAgain(t *testing.T) {
	t.Parallel()
	s := started(t)
	seen := map[string]bool{}
	for n := 0; n < task.MaxSteps; n += 2 {
		s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "set_steps", Steps: news("a", "b")}))
		for _, step := range s.task.Steps {
			if seen[step.ID] {
				t.Fatalf("%s again", step.ID)
			}
			seen[step.ID] = true
		}
	}
	for _, a := range []task.UpdateAsk{{Action: "set_steps", Steps: news("a")}, {Action: "add_step", StepContent: "a"}} {
		a.Asked = s.by("eden")
		if _, err := task.Update(&s.task, a); code(err) != task.CodeFull {
			t.Errorf("%s: %v", a.Action, err)
		}
	}
}

func TestStepsWaitForApproval(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	a := s.start("a", "b")
	a.RequiresApproval, a.Steps[1].Status = true, "in_progress"
	s.take(task.Start(a))
	if got := shape(s.task.Steps); got != "s1 pending, s2 pending" || s.task.Progress != "Task created - awaiting approval" {
		t.Errorf("%s, %q", got, s.task.Progress)
	}
	s.take(task.Approve(&s.task, task.ApproveAsk{Asked: s.by("ruda")}))
	if got := shape(s.task.Steps); got != "s1 in_progress, s2 pending" || s.task.Progress != "Task approved by ruda" {
		t.Errorf("%s, %q", got, s.task.Progress)
	}
}
