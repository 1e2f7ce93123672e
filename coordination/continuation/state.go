package continuation

import (
	"maps"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// State is what the log says about the continuation of one agent. Apply folds it; the zero State is for an unknown agent. A copy is an
// independent State. All times are ms since 1970.
type State struct {
	Decided int64 `json:"decided,omitempty"` // decisions with events so far

	Failures     int    `json:"failures,omitempty"`  // failed prompts in a row
	Overflows    int    `json:"overflows,omitempty"` // of these, the latest context overflows in a row
	Cause        string `json:"cause,omitempty"`     // of the last failure: a reason of Backoff, or context_reset
	FailedTask   string `json:"failedTask,omitempty"`
	FailedRun    string `json:"failedRun,omitempty"`
	BackoffUntil int64  `json:"backoffUntil,omitempty"`
	BackoffMs    int64  `json:"backoffMs,omitempty"`
	BackoffTold  bool   `json:"backoffTold,omitempty"` // recorded by continuation.backoff

	Prompt    Sent   `json:"prompt,omitzero"`     // the last one to the agent itself
	Ended     End    `json:"ended,omitzero"`      // of the last run of the main session
	Answered  string `json:"answered,omitempty"`  // the run whose end triggered the last prompt
	SummaryAt int64  `json:"summaryAt,omitempty"` // of the last prompt about a restart

	Tasks map[string]Care `json:"tasks,omitempty"` // by task id; open tasks only
}

// Sent is a prompt to the agent.
type Sent struct {
	RunID  string `json:"runId,omitempty"`
	TaskID string `json:"taskId,omitempty"`
	Reason Reason `json:"reason,omitempty"`
	At     int64  `json:"at,omitempty"`
	Over   bool   `json:"over,omitempty"` // its run has ended
}

// End is the end of a run.
type End struct {
	RunID     string `json:"runId,omitempty"`
	At        int64  `json:"at,omitempty"`
	OK        bool   `json:"ok,omitempty"`
	BrokenOff bool   `json:"brokenOff,omitempty"` // by a restart
}

// Care is the state of prompts and requests for one task.
type Care struct {
	At          int64  `json:"at,omitempty"`       // of the last prompt to continue
	Prompts     int    `json:"prompts,omitempty"`  // prompts without progress since
	Measured    int    `json:"measured,omitempty"` // at the last prompt: steps done or skipped; without steps, lines of progress
	StepID      string `json:"stepId,omitempty"`   // current step at the last prompt
	Same        int    `json:"same,omitempty"`     // prompts in a row at that step
	EscalatedAt int    `json:"escalated,omitempty"`
	Defines     int    `json:"defines,omitempty"` // prompts to define steps

	RemindedAt  int64  `json:"remindedAt,omitempty"`
	Reminders   int    `json:"reminders,omitempty"` // reminders since the last request to unblock
	Asked       string `json:"asked,omitempty"`     // flow of the last request to unblock, unless known to be undelivered
	AskFailedAt int64  `json:"askFailedAt,omitempty"`
	Told        bool   `json:"told,omitempty"` // escalated as blocked
	Gone        string `json:"gone,omitempty"` // the incomplete dependency that was reported
}

// care returns the Care of a task.
func (s *State) care(taskID string) Care { return s.Tasks[taskID] }

// tend stores the Care of a task, without changing copies of the State.
func (s *State) tend(taskID string, c Care) {
	tasks := maps.Clone(s.Tasks)
	if tasks == nil {
		tasks = map[string]Care{}
	}
	tasks[taskID] = c
	s.Tasks = tasks
}

// leave removes a task, and reports whether it was there.
func (s *State) leave(taskID string) bool {
	if _, known := s.Tasks[taskID]; !known {
		return false
	}
	tasks := maps.Clone(s.Tasks)
	delete(tasks, taskID)
	if len(tasks) == 0 {
		tasks = nil
	}
	s.Tasks = tasks
	return true
}

// come updates Care to the task's present progress and step; progress resets the counters. Defining steps counts as progress.
func (c Care) come(measured int, stepID string) Care {
	if c.At > 0 && (measured > c.Measured || c.StepID == "" && stepID != "") {
		c.Prompts, c.Same, c.EscalatedAt = 0, 0, 0
	}
	return c
}

// prompted returns Care after a prompt to continue.
func (c Care) prompted(reason Reason, stepID string, measured int, at int64) Care {
	c = c.come(measured, stepID)
	if stepID != c.StepID {
		c.Same = 0
	}
	c.Prompts, c.Same, c.StepID, c.Measured, c.At = c.Prompts+1, c.Same+1, stepID, measured, at
	switch reason {
	case SameStep, NoProgress:
		c.EscalatedAt = c.Prompts
	case StepsMissing:
		c.Defines++
	}
	return c
}

// unprompted undoes the last prompt, whose run was interrupted and says nothing about the agent. The time of the prompt stays.
func (c Care) unprompted(reason Reason) Care {
	c.Prompts, c.Same = max(c.Prompts-1, 0), max(c.Same-1, 0)
	switch reason {
	case SameStep, NoProgress:
		c.EscalatedAt = max(c.EscalatedAt-StalledLimit, 0)
	case StepsMissing:
		c.Defines = max(c.Defines-1, 0)
	}
	return c
}

// measure returns the progress of a task, see Care.Measured.
func measure(t *task.Task) (n int) {
	if len(t.Steps) == 0 {
		return t.ProgressCount
	}
	for _, s := range t.Steps {
		if s.Status == stepDone || s.Status == stepSkipped {
			n++
		}
	}
	return n
}
