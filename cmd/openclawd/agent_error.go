package main

import (
	"fmt"
	"time"

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
