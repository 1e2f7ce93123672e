package continuation

import (
	"maps"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// State is what the log says of how one agent was kept going. Apply folds it; the zero State is that of an agent of which nothing is known. A
// copy is a State of its own. All times are ms since 1970.
type State struct {
	Decided int64 `json:"decided,omitempty"` // events that a decision has made, in all

	Failures     int    `json:"failures,omitempty"`  // prompts in a row whose run has failed
	Overflows    int    `json:"overflows,omitempty"` // of these the last ones in a row whose context was too long
	Cause        string `json:"cause,omitempty"`     // of the last failure: a reason of Backoff, or context_reset
	FailedTask   string `json:"failedTask,omitempty"`
	FailedRun    string `json:"failedRun,omitempty"`
	BackoffUntil int64  `json:"backoffUntil,omitempty"`
	BackoffMs    int64  `json:"backoffMs,omitempty"`
	BackoffTold  bool   `json:"backoffTold,omitempty"` // an event continuation.backoff says so

	Prompt    Sent   `json:"prompt,omitzero"`     // the last one to the agent itself
	Ended     End    `json:"ended,omitzero"`      // of the last run of the main session
	Answered  string `json:"answered,omitempty"`  // the run after whose end the last prompt came
	SummaryAt int64  `json:"summaryAt,omitempty"` // of the last prompt about a restart

	Tasks map[string]Care `json:"tasks,omitempty"` // by id; only those that are not over
}

// Sent is a prompt to the agent.
type Sent struct {
	RunID  string `json:"runId,omitempty"`
	TaskID string `json:"taskId,omitempty"`
	Reason Reason `json:"reason,omitempty"`
	At     int64  `json:"at,omitempty"`
	Over   bool   `json:"over,omitempty"` // its run has ended
}

// End is how a run has ended.
type End struct {
	RunID     string `json:"runId,omitempty"`
	At        int64  `json:"at,omitempty"`
	OK        bool   `json:"ok,omitempty"`
	BrokenOff bool   `json:"brokenOff,omitempty"` // by a restart
}

// Care is what was done for one task.
type Care struct {
	At          int64  `json:"at,omitempty"`       // of the last prompt to go on with it
	Prompts     int    `json:"prompts,omitempty"`  // to go on with it, without progress since
	Measured    int    `json:"measured,omitempty"` // at the last one: steps done or skipped, lines of progress where there are no steps
	StepID      string `json:"stepId,omitempty"`   // at the last one: the step that it was at
	Same        int    `json:"same,omitempty"`     // prompts in a row at that step
	EscalatedAt int    `json:"escalated,omitempty"`
	Defines     int    `json:"defines,omitempty"` // prompts to define steps

	RemindedAt  int64  `json:"remindedAt,omitempty"`
	Reminders   int    `json:"reminders,omitempty"` // since the last request to unblock it
	Asked       string `json:"asked,omitempty"`     // the flow of the last request to unblock it, as long as nothing says that it has not arrived
	AskFailedAt int64  `json:"askFailedAt,omitempty"`
	Told        bool   `json:"told,omitempty"` // that nobody unblocks it
	Gone        string `json:"gone,omitempty"` // what it depends on that is never completed, of which somebody was told
}

// care is what was done for a task.
func (s *State) care(taskID string) Care { return s.Tasks[taskID] }

// tend keeps what was done for a task. Copies of the State keep what they had.
func (s *State) tend(taskID string, c Care) {
	tasks := maps.Clone(s.Tasks)
	if tasks == nil {
		tasks = map[string]Care{}
	}
	tasks[taskID] = c
	s.Tasks = tasks
}

// leave forgets a task, and reports whether there was something to forget.
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

// come is Care as it is when the task has come so far, and is at that step: what was counted without progress begins anew with it. Steps where there
// were none are progress, too.
func (c Care) come(measured int, stepID string) Care {
	if c.At > 0 && (measured > c.Measured || c.StepID == "" && stepID != "") {
		c.Prompts, c.Same, c.EscalatedAt = 0, 0, 0
	}
	return c
}

// prompted is Care after a prompt to go on.
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

// unprompted is Care as if the last prompt had not been: its run has not come to its end, so that says nothing of the agent. When it was
// sent stays.
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

// measure is how far a task has come: see Care.Measured.
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
