package plan

import "github.com/pronto-lab/openclawd/coordination"

// Refusal says why a request about a plan was refused. Nothing has happened then.
type Refusal = coordination.Refusal[Details]

// Details distinguishes the refusals of this package.
type Details struct{}

const (
	CodeInvalid     = "invalid_plan"
	CodeUnknown     = "unknown_plan"  // it does not exist, or not for this agent
	CodeUnknownTask = "unknown_task"  // likewise
	CodeUnknownTool = "unknown_tool"  // a tool that plans cannot request
	CodeState       = "wrong_state"   // the status of the plan or its task does not allow it
	CodeNotAllowed  = "not_allowed"   // the requester may not do this
	CodeFull        = "too_much"      // a limit of this package
	CodeClosed      = "plan_required" // no approved plan opens the tool
)
