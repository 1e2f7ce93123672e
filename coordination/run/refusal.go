package run

// Refusal says why a message is not accepted, or a run not stopped. Text is what clients of the gateway show.
type Refusal struct {
	Code  string // one of those below
	Field string
	Value string
	Text  string
	Mend  string
}

func (r *Refusal) Error() string { return r.Text }

// Codes of refusals.
const (
	CodeInvalidAsk   = "invalid_message"
	CodeOver         = "run_over"      // the run has ended
	CodeNotBegun     = "run_not_begun" // it cannot end in this way before it begins
	CodeNoEnd        = "no_end"        // the state is not one in which a run is over
	CodeUnknownLane  = "unknown_lane"
	CodeUnknownModel = "unknown_model" // the model that was asked for cannot be opened
	CodeOtherSession = "other_session" // the run is of another session
	CodeNotAllowed   = "send_denied"   // the session takes no messages
)
