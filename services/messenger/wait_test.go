package messenger

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// unreadable is a log that cannot be read.
type unreadable struct{ Log }

func (unreadable) Head(context.Context) (eventstore.Head, error) {
	return eventstore.Head{}, errors.New("disk I/O error")
}

// A caller is not kept waiting for a log that cannot be read once the program ends, even if the next attempt is due later.
func TestCallersAreReleasedWhenTheProgramEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		s := New(Options{Log: unreadable{}, Logger: slog.New(slog.DiscardHandler), Done: done})
		caller, began := s.waits.join("job"), time.Now()
		s.waits.stop("job", "run") // there is something to look for on disk
		time.AfterFunc(time.Minute, func() { close(done) })
		<-caller.done
		if took := time.Since(began); took != time.Minute {
			t.Errorf("the caller was released after %v, want 1m, when the program ends", took)
		}
	})
}
