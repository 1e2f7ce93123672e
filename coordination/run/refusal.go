package run

import "github.com/pronto-lab/openclawd/coordination"

// Refusal says why a message was not accepted, or a run not stopped. Text is shown to gateway clients.
type Refusal = coordination.Refusal[Details]

// Details distinguishes the refusals of this package.
type Details struct{}

const (
	CodeInvalidAsk   = "invalid_message"
	CodeOver         = "run_over"      // the run has ended
	CodeNotBegun     = "run_not_begun" // it cannot end this way before it starts
	CodeNoEnd        = "no_end"        // not an end state
	CodeUnknownLane  = "unknown_lane"
	CodeUnknownModel = "unknown_model" // the requested model cannot be opened
	CodeOtherSession = "other_session" // the run is of another session
	CodeNotAllowed   = "send_denied"   // the session takes no messages
)
