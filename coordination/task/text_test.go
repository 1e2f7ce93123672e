package task_test

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// A task begins when it is due at the latest. A day is all of it, wherever the clock of a time is.
func TestATaskBeginsBeforeItIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start, due string
		may        bool
	}{
		"the same day":               {"2026-02-28", "2026-02-28", true},
		"a day later":                {"2026-03-01", "2026-02-28", false},
		"at the end of the day":      {"2026-02-28T23:59:59Z", "2026-02-28", true},
		"of that day, by its clock":  {"2026-02-28T23:00:00-05:00", "2026-02-28", true},
		"of the next day":            {"2026-03-01T00:00:00Z", "2026-02-28", false},
		"due in that day":            {"2026-02-28", "2026-02-28T09:00:00Z", true},
		"due the day before":         {"2026-02-28", "2026-02-27T09:00:00Z", false},
		"the same time":              {"2026-02-28T09:00:00Z", "2026-02-28T18:00:00+09:00", true},
		"a second later":             {"2026-02-28T09:00:01Z", "2026-02-28T18:00:00+09:00", false},
		"earlier, on a later day":    {"2026-03-01T01:00:00+09:00", "2026-02-28T17:00:00Z", true},
		"no start":                   {"", "2026-02-28", true},
		"no end":                     {"2026-03-01", "", true},
		"whatever is blank, is none": {" ", "2026-02-28", true},
	} {
		s := newStream(t)
		a := s.backlog()
		a.StartDate, a.DueDate = c.start, c.due
		events, err := task.AddBacklog(a)
		if c.may {
			s.take(events, err)
			continue
		}
		if r := refused(t, events, err); r.Field != "start_date" || !strings.Contains(r.Text, c.start) || !strings.Contains(r.Text, "after due_date "+c.due) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What is blank is said what to do about, in words of what it is for.
func TestHintsForBlankFields(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	start, steps, backlog := s.start(), s.start(), s.backlog()
	start.Description, backlog.Description, steps.Steps = " \n", "", []task.NewStep{{Content: " "}}
	_, startErr := task.Start(start)
	_, stepErr := task.Start(steps)
	_, backlogErr := task.AddBacklog(backlog)
	busy := started(t)
	block := busy.block("ruda")
	block.Reason = "\t"
	_, blockErr := task.Block(&busy.task, block)
	_, addErr := task.Update(&busy.task, task.UpdateAsk{Asked: busy.by("eden"), Action: "add_step"})
	for want, err := range map[string]error{
		"description what is to be done": startErr, "description what": backlogErr, "each step what to do": stepErr,
		"reason what the task waits for": blockErr, "step_content what to do": addErr,
	} {
		if r := refused(t, nil, err); !strings.Contains(r.HintText, want) || !strings.Contains(r.Text, "blank") {
			t.Errorf("%s: %+v", want, r)
		}
	}
}
