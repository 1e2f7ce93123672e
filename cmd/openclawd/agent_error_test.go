package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/talkerror"
)

// Only a message that is not taken, or taken back, may be said again: 75 is never the code of one that was lost sight of.
func TestLostRunIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[int64]string{0: "it is unknown whether the message was accepted", 1: "a queued one is answered after a restart"} {
		talk := exchange{runID: "r1", taken: takenAnswer{accepted}, losses: mostLosses}
		why := &client.ClosedError{Code: 1006}
		if talk.reconnect(t.Context(), why) {
			t.Error("it connects again without end")
		}
		err := talk.refused(why)
		var lost *talkerror.Lost
		if !errors.As(err, &lost) || exitCode(err) != exitFailed || !strings.Contains(lost.Hint(), want) || !strings.HasSuffix(lost.Hint(), "openclawd runs show r1") {
			t.Errorf("accepted at %d: %v, exit code %d", accepted, err, exitCode(err))
		}
	}
}

// Every reason for which the program aborts runs has words of its own.
func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, reason := range []string{"", "rpc", "stop", "reset", "delete", "restart", "shutdown", "lease"} {
		words := (&talkerror.Ended{RunID: "r1", State: "aborted", Cause: reason}).Error()
		if said[words] || strings.HasSuffix(words, ": "+reason) {
			t.Errorf("%s: %s", reason, words)
		}
		said[words] = true
	}
	if words := (&talkerror.Ended{State: "aborted", Cause: "of late"}).Error(); words != "the run was stopped: of late" {
		t.Error(words)
	}
}
