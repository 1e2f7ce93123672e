package plan

// Refusal says why something cannot be done with a plan. Nothing has happened then.
type Refusal struct {
	Reason string // a code: one of those below
	Field  string // of what was asked for; ""
	Text   string // what is wrong, with the value
	Mend   string
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Code() string  { return r.Reason }
func (r *Refusal) Hint() string  { return r.Mend }

// Codes of refusals.
const (
	CodeInvalid     = "invalid_plan"
	CodeUnknown     = "unknown_plan"  // there is none, or not for this agent
	CodeUnknownTask = "unknown_task"  // likewise
	CodeUnknownTool = "unknown_tool"  // none that a plan may ask for
	CodeState       = "wrong_state"   // the plan, or its task, is in a state from which this does not lead on
	CodeNotAllowed  = "not_allowed"   // who asks may not do this
	CodeFull        = "too_much"      // a bound of the package is reached
	CodeClosed      = "plan_required" // no approved plan opens the tool
)
