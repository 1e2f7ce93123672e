// Package talkerror has the errors of a conversation with an agent that ended without an answer.
package talkerror

import "github.com/pronto-lab/openclawd/coordination/run"

// Interrupted reports that the user stopped a run with Ctrl-C.
type Interrupted struct{ RunID string }

func (e *Interrupted) Error() string { return "stopped: run " + e.RunID }
func (e *Interrupted) Code() string  { return "interrupted" }
func (e *Interrupted) Hint() string {
	return "the partial answer is in the session; openclawd runs show " + e.RunID + " shows how it ended"
}

// Lost reports that the connection was lost for good before the run ended.
type Lost struct {
	RunID string
	Taken bool // the gateway had acknowledged the message
	Err   error
}

func (e *Lost) Error() string { return e.Err.Error() }
func (e *Lost) Unwrap() error { return e.Err }
func (e *Lost) Code() string  { return "connection_lost" }
func (e *Lost) Hint() string {
	if !e.Taken {
		return "it is unknown whether the message was accepted: openclawd runs show " + e.RunID
	}
	return "a run that had started is reported as interrupted, a queued one is answered after a restart: openclawd runs show " + e.RunID
}

// Unread reports that a run was stopped because its output was closed.
type Unread struct {
	RunID string
	Err   error
}

func (e *Unread) Error() string {
	return "cannot write the answer, run " + e.RunID + " is stopped: " + e.Err.Error()
}
func (e *Unread) Unwrap() error { return e.Err }
func (e *Unread) Code() string  { return "output_closed" }
func (e *Unread) Hint() string {
	return "openclawd runs show " + e.RunID + " shows the partial answer; --detach does not wait for the answer"
}

// Ended reports how a run ended without an answer.
type Ended struct {
	RunID, State, Cause string
	Late                bool // its turn came while the message was being withdrawn
}

func (e *Ended) Error() string {
	what := "the run ended as " + e.State
	switch e.State {
	case string(run.TimedOut):
		what = "the answer took too long"
	case string(run.Aborted):
		if e.Late {
			return "the run was stopped: its turn came just when --queue-wait was over"
		}
		return stoppedBy(e.Cause)
	case string(run.Failed):
		if e.Cause != "" {
			return e.Cause
		}
	}
	if e.Cause != "" {
		what += ": " + e.Cause
	}
	return what
}

// stoppedBy describes why a run was aborted. Unknown reasons are passed on as they are.
func stoppedBy(reason string) string {
	switch reason {
	case "":
		return "the run was stopped"
	case "rpc":
		return "the run was stopped by another client"
	case "stop":
		return "the run was stopped by a stop command in its session"
	case "reset":
		return "the run was stopped: its session was reset"
	case "delete":
		return "the run was stopped: its session was deleted"
	case "restart":
		return "the run was interrupted by a restart of the server"
	case "shutdown":
		return "the run was interrupted by a shutdown of the server"
	case "lease":
		return "the run was interrupted: the server lost it"
	}
	return "the run was stopped: " + reason
}

func (e *Ended) Code() string { return "run_" + e.State }
func (e *Ended) Hint() string {
	if e.State == string(run.TimedOut) {
		return "use a longer --timeout; openclawd runs show " + e.RunID + " shows the partial answer"
	}
	return "openclawd runs show " + e.RunID + " says more"
}
