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

// runLostError says that the connection ended while a run was under way. The run goes on.
type runLostError struct {
	runID string
	err   error
}

func (e *runLostError) Error() string { return e.err.Error() }
func (e *runLostError) Unwrap() error { return e.err }
func (e *runLostError) Code() string  { return "connection_lost" }
func (e *runLostError) Hint() string {
	return "a message that was taken is answered all the same: openclawd runs show " + e.runID
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
		what = "the run was stopped"
		if e.late {
			what = "the run was stopped: its turn came when the time of --queue-wait was over"
		}
	case string(coordrun.Failed):
		if e.cause != "" {
			return e.cause
		}
	}
	if e.cause != "" && !e.late {
		what += ": " + e.cause
	}
	return what
}

func (e *runError) Code() string { return "run_" + e.state }
func (e *runError) Hint() string {
	if e.state == string(coordrun.TimedOut) {
		return "give it longer with --timeout; openclawd runs show " + e.runID + " has what was said until then"
	}
	return "openclawd runs show " + e.runID + " says more"
}
