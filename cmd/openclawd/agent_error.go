package main

import (
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/internal/output"
)

// busyError reports that a message was rejected or withdrawn because others are queued before it.
type busyError struct {
	session string
	ahead   int
	waited  time.Duration
	refused string // the gateway's message; "": it accepted the message
}

// busyOf converts the refusal of a busy gateway; nil for another reason.
func busyOf(why *protocol.Error, session string) *busyError {
	var details struct {
		Code       string
		QueueAhead int
		WaitedMs   int64
	}
	(&callError{reason: why}).read(&details)
	if details.Code != "busy" {
		return nil
	}
	return &busyError{session: session, ahead: details.QueueAhead, waited: time.Duration(details.WaitedMs) * time.Millisecond, refused: why.Message}
}

func (e *busyError) Error() string {
	switch {
	case e.refused != "":
		return fmt.Sprintf("%s: %s ahead, the first has waited %s", e.refused, output.Count(int64(e.ahead), "message"), e.waited.Round(time.Millisecond))
	case e.ahead == 0:
		return fmt.Sprintf("session %s is busy: no free lane after %s", e.session, e.waited)
	}
	return fmt.Sprintf("session %s is busy: %s ahead, waited %s", e.session, output.Count(int64(e.ahead), "message"), e.waited)
}
func (e *busyError) Code() string { return "busy" }
func (e *busyError) Hint() string {
	if e.refused == "" {
		return "the message was withdrawn: try again later, with a longer --queue-wait, or in another --session; openclawd work shows the queue"
	}
	return "try again later, or in another --session; openclawd work shows the queue"
}

// interruptedError reports that the user stopped a run with Ctrl-C.
type interruptedError struct{ runID string }

func (e *interruptedError) Error() string { return "stopped: run " + e.runID }
func (e *interruptedError) Code() string  { return "interrupted" }
func (e *interruptedError) Hint() string {
	return "the partial answer is in the session; openclawd runs show " + e.runID + " shows how it ended"
}

// runLostError reports that the connection was lost for good before the run ended.
type runLostError struct {
	runID string
	taken bool // the gateway had acknowledged the message
	err   error
}

func (e *runLostError) Error() string { return e.err.Error() }
func (e *runLostError) Unwrap() error { return e.err }
func (e *runLostError) Code() string  { return "connection_lost" }
func (e *runLostError) Hint() string {
	if !e.taken {
		return "it is unknown whether the message was accepted: openclawd runs show " + e.runID
	}
	return "a run that had started is reported as interrupted, a queued one is answered after a restart: openclawd runs show " + e.runID
}

// unreadError reports that a run was stopped because its output was closed.
type unreadError struct {
	runID string
	err   error
}

func (e *unreadError) Error() string {
	return "cannot write the answer, run " + e.runID + " is stopped: " + e.err.Error()
}
func (e *unreadError) Unwrap() error { return e.err }
func (e *unreadError) Code() string  { return "output_closed" }
func (e *unreadError) Hint() string {
	return "openclawd runs show " + e.runID + " shows the partial answer; --detach does not wait for the answer"
}

// runError reports how a run ended without an answer.
type runError struct {
	runID, state, cause string
	late                bool // its turn came while the message was being withdrawn
}

func (e *runError) Error() string {
	what := "the run ended as " + e.state
	switch e.state {
	case string(run.TimedOut):
		what = "the answer took too long"
	case string(run.Aborted):
		if e.late {
			return "the run was stopped: its turn came just when --queue-wait was over"
		}
		return stoppedBy(e.cause)
	case string(run.Failed):
		if e.cause != "" {
			return e.cause
		}
	}
	if e.cause != "" {
		what += ": " + e.cause
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

func (e *runError) Code() string { return "run_" + e.state }
func (e *runError) Hint() string {
	if e.state == string(run.TimedOut) {
		return "use a longer --timeout; openclawd runs show " + e.runID + " shows the partial answer"
	}
	return "openclawd runs show " + e.runID + " says more"
}
