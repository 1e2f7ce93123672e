package main

import (
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	coordrun "github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// busyError says that a message was not taken, or taken back, because others are before it.
type busyError struct {
	session string
	ahead   int
	waited  time.Duration
	refused string // what the gateway says; "": it has taken the message
}

// busyOf is the refusal of a gateway that has no room; nil: it refuses for another reason.
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
		return fmt.Sprintf("session %s is busy: no lane was free for it, waited %s", e.session, e.waited)
	}
	return fmt.Sprintf("session %s is busy: %s ahead, waited %s", e.session, output.Count(int64(e.ahead), "message"), e.waited)
}
func (e *busyError) Code() string { return "busy" }
func (e *busyError) Hint() string {
	if e.refused == "" {
		return "the message was taken back: say it again later, with a longer --queue-wait, or in another --session; openclawd work shows what waits"
	}
	return "say it again later, or in another --session; openclawd work shows what waits"
}

// interruptedError says that somebody has stopped a run from the keyboard.
type interruptedError struct{ runID string }

func (e *interruptedError) Error() string { return "stopped: run " + e.runID }
func (e *interruptedError) Code() string  { return "interrupted" }
func (e *interruptedError) Hint() string {
	return "what was said until then is in the session; openclawd runs show " + e.runID + " tells how it ended"
}

// runLostError says that the connection ended before the run did, and for good.
type runLostError struct {
	runID string
	taken bool // the gateway had said that it has the message
	err   error
}

func (e *runLostError) Error() string { return e.err.Error() }
func (e *runLostError) Unwrap() error { return e.err }
func (e *runLostError) Code() string  { return "connection_lost" }
func (e *runLostError) Hint() string {
	if !e.taken {
		return "whether the message was taken is not known: openclawd runs show " + e.runID
	}
	return "if the run had begun it is reported as interrupted, if it waited it is answered after a restart: openclawd runs show " + e.runID
}

// unreadError says that a run was stopped because nobody reads its answer.
type unreadError struct {
	runID string
	err   error
}

func (e *unreadError) Error() string {
	return "the answer cannot be written, run " + e.runID + " is stopped: " + e.err.Error()
}
func (e *unreadError) Unwrap() error { return e.err }
func (e *unreadError) Code() string  { return "output_closed" }
func (e *unreadError) Hint() string {
	return "openclawd runs show " + e.runID + " has what was said until then; --detach waits for no answer"
}

// runError says how a run has ended without an answer.
type runError struct {
	runID, state, cause string
	late                bool // its turn came while the message was taken back
}

func (e *runError) Error() string {
	what := "the run has ended as " + e.state
	switch e.state {
	case string(coordrun.TimedOut):
		what = "the answer took too long"
	case string(coordrun.Aborted):
		if e.late {
			return "the run was stopped: its turn came when the time of --queue-wait was over"
		}
		return stoppedBy(e.cause)
	case string(coordrun.Failed):
		if e.cause != "" {
			return e.cause
		}
	}
	if e.cause != "" {
		what += ": " + e.cause
	}
	return what
}

// stoppedBy tells people why a run was aborted. Reasons that nobody here knows are told as they are.
func stoppedBy(reason string) string {
	switch reason {
	case "":
		return "the run was stopped"
	case "rpc":
		return "the run was stopped by somebody else"
	case "stop":
		return "the run was stopped: somebody said stop in its session"
	case "reset":
		return "the run was stopped: its session was begun anew"
	case "delete":
		return "the run was stopped: its session was deleted"
	case "restart":
		return "the run was interrupted: the server ended in the middle of it and was started again"
	case "shutdown":
		return "the run was interrupted: the server was told to end"
	case "lease":
		return "the run was interrupted: the server lost it"
	}
	return "the run was stopped: " + reason
}

func (e *runError) Code() string { return "run_" + e.state }
func (e *runError) Hint() string {
	if e.state == string(coordrun.TimedOut) {
		return "give it longer with --timeout; openclawd runs show " + e.runID + " has what was said until then"
	}
	return "openclawd runs show " + e.runID + " says more"
}
