package task

// Refusal says why something cannot be done with a task. Nothing has happened then.
type Refusal struct {
	Reason string // a code: one of those below
	Field  string // of what was asked for; ""
	Text   string // what is wrong, with the value
	Mend   string
	// Remaining are the steps that stand against a completion: of CodeStopGuard.
	Remaining []Remaining
}

// Remaining is a step that is not done.
type Remaining struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.Mend }

// Codes of refusals.
const (
	CodeInvalid      = "invalid_task"
	CodeUnknown      = "unknown_task"     // there is none, or not for this agent
	CodeState        = "wrong_state"      // the task is in a state from which this does not lead on
	CodeConflict     = "conflict"         // it is not at the version that was expected any more
	CodeStopGuard    = "stop_guard"       // steps remain
	CodeDependency   = "unmet_dependency" // what it depends on is not done
	CodeNotYet       = "not_yet"          // its start date has not come
	CodeBusy         = "active_task"      // the agent works at another one
	CodeNotAllowed   = "not_allowed"      // an agent may not decide this
	CodeUnknownAgent = "unknown_agent"    // no such agent is configured
	CodeUnknownStep  = "unknown_step"     // no such step
	CodeDelegation   = "wrong_delegation" // no such delegation, or in a state from which this does not lead on
	CodeFull         = "too_much"         // a bound of the package is reached
	CodeNothing      = "nothing_to_do"    // e.g. no active task
)
