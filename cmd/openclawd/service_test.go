package main

import (
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/internal/systemd"
)

// A server that ends because of a wrong command line or setting is not started again.
func TestServiceKnowsTheExitCodes(t *testing.T) {
	t.Parallel()
	if want := fmt.Sprint(exitUsage, exitConfig); systemd.ExitsOfHands != want {
		t.Errorf("the unit is not started again after %q, want %q", systemd.ExitsOfHands, want)
	}
}
