package slacktest

// Error is a refusal: Slack answers 200 with ok false.
type Error struct {
	Code     string // the error, e.g. not_in_channel
	Needed   string // of missing_scope
	Provided string
	Details  []string // response_metadata.messages
}

func (e *Error) Error() string { return "slack refuses with " + e.Code }

func refuse(code string) *Error { return &Error{Code: code} }

func (e *Error) body() map[string]any {
	b := map[string]any{"ok": false, "error": e.Code}
	if e.Needed != "" {
		b["needed"], b["provided"] = e.Needed, e.Provided
	}
	if len(e.Details) > 0 {
		b["response_metadata"] = map[string]any{"messages": e.Details}
	}
	return b
}
