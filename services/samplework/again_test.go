package samplework

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// failing fails the first calls, and notes their ids.
type failing struct {
	failures int
	calls    []string
}

func (f *failing) Offer(tool.Caller) []tool.Spec { return nil }

func (f *failing) Call(_ context.Context, c tool.Caller, _ string, _ json.RawMessage) (tool.Output, error) {
	if f.calls = append(f.calls, c.CallID); len(f.calls) <= f.failures {
		return tool.Output{}, errors.New("busy")
	}
	return tool.Output{}, nil
}

// A piece that has failed is repeated with the same call a few times, and then given up.
func TestAFailedPieceIsRepeated(t *testing.T) {
	t.Parallel()
	const backlog = 0 // a piece of one call
	for failures, c := range map[int]struct {
		calls int
		fails bool
	}{0: {1, false}, 1: {2, false}, 9: {mostTries - 1, true}} {
		synctest.Test(t, func(t *testing.T) {
			box := &failing{failures: failures}
			s := New(Options{Tools: box, Every: time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
			err := s.again(t.Context(), backlog, errors.New("first"))
			if (err != nil) != c.fails || len(box.calls) != c.calls {
				t.Errorf("after %d failures: %v, calls %v", failures, err, box.calls)
			}
			for _, id := range box.calls {
				if id != "sample:0:0" {
					t.Errorf("call %s", id)
				}
			}
		})
	}
}
